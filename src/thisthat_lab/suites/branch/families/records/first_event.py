"""Choice: which of several events came first, last, or next after another?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.suites.records.fields import say_day
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
SUBJECTS = _TABLES.read("subjects", tuple[tuple[str, tuple[str, ...]], ...])
RANKS = ("first", "second", "third")


@dataclass(frozen=True)
class Case:
    """Events in the order they are told, with the time of each.

    ``ask_for`` is "first", "last", "rank 1", … or "after 2": the event next after number 2.
    Times are minutes of a day or days of a calendar; all are different.
    """

    events: tuple[str, ...]
    times: tuple[int, ...]
    unit: str
    ask_for: str
    setting: Setting


def draw(rng: Rng, setting: Setting) -> Case:
    """Three to ten events, told in random order."""
    count = rng.integer(3, min(10, 3 + setting.clauses + setting.distractors // 3))
    template, names = rng.choice(SUBJECTS)
    mixed = rng.chance(0.4)
    events: dict[str, None] = {}
    while len(events) < count:
        if mixed:
            template, names = rng.choice(SUBJECTS)
        events[template.format(x=rng.choice(names))] = None
    unit = rng.choice(("clock", "day"))
    if unit == "clock":
        start = rng.integer(0, 1000)
        span = range(start, start + (90 if rng.chance(0.5) else 400))
    else:
        start = rng.integer(0, 500)
        span = range(start, start + (40 if rng.chance(0.5) else 400))
    times = tuple(rng.sample(span, count))
    forms = ["first", "last", "first", "last"]
    if setting.clauses > 1:
        forms += [f"rank {rng.integer(1, 2)}", "after", "before"]
    form = rng.choice(forms)
    if form in ("after", "before"):
        order = sorted(range(count), key=times.__getitem__)
        usable = order[:-1] if form == "after" else order[1:]
        form = f"{form} {rng.choice(usable)}"
    return Case(tuple(events), times, unit, form, setting)


def solve(case: Case) -> int:
    """The place of the event that is asked for."""
    order = sorted(range(len(case.times)), key=case.times.__getitem__)
    word, _, number = case.ask_for.partition(" ")
    if word == "first":
        return order[0]
    if word == "last":
        return order[-1]
    if word == "rank":
        return order[int(number)]
    return order[order.index(int(number)) + (1 if word == "after" else -1)]


def twin(case: Case, rng: Rng) -> Case | None:
    """The same events, asked from the other end."""
    other = replace(case, ask_for=rng.choice(("first", "last", "rank 1")))
    return turned(case, [other], solve)


def render(case: Case, rng: Rng) -> Asked:
    """A log, a list of sentences, or JSON."""
    form = rng.choice(("log", "prose", "json", "list"))
    style = rng.choice(("iso", "day first", "month first"))
    stamps = [
        f"{time // 60 % 24:02d}:{time % 60:02d}" if case.unit == "clock" else say_day(time, style)
        for time in case.times
    ]
    pairs = list(zip(case.events, stamps, strict=True))
    if form == "json":
        content: object = [{"event": event, "time": stamp} for event, stamp in pairs]
        deciding = [f'"event": "{event}", "time": "{stamp}"' for event, stamp in pairs]
    elif form == "prose":
        at = "at" if case.unit == "clock" else "on"
        deciding = [
            rng.choice((f"{event} {at} {stamp}", f"{at} {stamp} {event}")) for event, stamp in pairs
        ]
        deciding = [text[:1].upper() + text[1:] for text in deciding]
        content = ". ".join(deciding) + "."
    else:
        mark = "{stamp} {event}" if form == "log" else "- {event}: {stamp}"
        deciding = [mark.format(stamp=stamp, event=event) for event, stamp in pairs]
        content = "\n".join(deciding)
    word, _, number = case.ask_for.partition(" ")
    if word in ("after", "before"):
        known = case.events[int(number)]
        question = rng.choice(NEXT[word]).format(known=known)
    elif word == "rank":
        question = f"Which event was the {RANKS[int(number)]} to happen?"
    else:
        question = rng.choice(ENDS[word])
    options = [(event, None) for event in case.events]
    sections = [(rng.choice(("events", "timeline", "log", "history")), content)]
    return ask(rng, sections, question, options, deciding=deciding, setting=case.setting)


ENDS = _TABLES.groups("ends")
NEXT = _TABLES.groups("next")
FAMILY = branch_family(
    "first_event", "choice", draw, solve, render, twin, held_out=True, abstains=False
)
