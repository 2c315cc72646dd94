"""Boolean: was a service level missed? A limit from a table against a time to be worked out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.questions import JSONValue
from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import json_span, person
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
WORLDS = _TABLES.read("worlds", tuple[tuple[str, str, tuple[str, ...]], ...])


@dataclass(frozen=True)
class Case:
    """Limits by class and one timed thing. Times are minutes; None is unknown."""

    noun: str
    goal: str
    limits: tuple[tuple[str, int], ...]
    rank: str | None
    start: int
    taken: int | None
    paused: int | None
    pauses_count: bool
    clock: bool
    breach_asked: bool
    setting: Setting
    agent: str | None

    @property
    def counted(self) -> int | None:
        """The minutes that count; None when unknown."""
        if self.taken is None or (self.paused is None and not self.pauses_count):
            return None
        return self.taken - (0 if self.pauses_count else self.paused or 0)


def draw(rng: Rng, setting: Setting) -> Case:
    """A case on either side of its limit, close to it more often than not."""
    noun, goal, ranks = rng.choice(WORLDS)
    count = rng.integer(2, len(ranks)) if setting.clauses > 1 else 1
    unit = rng.choice((5, 10, 15, 30))
    minutes = rng.sample(range(1, 13), count)
    limits = tuple(zip(rng.sample(ranks, count), (unit * part for part in minutes), strict=True))
    rank, limit = rng.choice(limits)
    paused = unit * rng.integer(0, 3) if setting.clauses > 2 else 0
    pauses_count = setting.clauses > 2 and rng.chance(0.4)
    gap = rng.integer(1, 5) if rng.chance(0.6) else rng.integer(1, limit)
    breach = rng.chance(0.5)
    counted = limit + gap if breach else limit - rng.integer(0, min(gap, limit - 1))
    case = Case(
        noun,
        goal,
        limits,
        rank,
        rng.integer(7 * 60, 12 * 60),
        counted if pauses_count else counted + paused,
        paused,
        pauses_count,
        setting.clauses > 1 and rng.chance(0.5),
        rng.chance(0.5),
        setting,
        person(rng),
    )
    return _with_gap(rng, case) if setting.abstain else case


def _with_gap(rng: Rng, case: Case) -> Case:
    if not rng.chance(1 / 3):
        return replace(case, agent=None)
    return replace(case, taken=None) if rng.chance(0.5) else replace(case, rank=None)


def solve(case: Case) -> int:
    """Yes when the counted time is over the limit (or not over it, if that is asked)."""
    counted = case.counted
    limits = [limit for rank, limit in case.limits if case.rank in (None, rank)]
    if counted is None:
        return 2
    breaches = {counted > limit for limit in limits}
    return 2 if len(breaches) > 1 else int(breaches.pop() == case.breach_asked)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same thing under limits that change the answer."""
    if solve(case) == 2 or case.counted is None or case.rank is None:
        return None
    breached = case.counted > dict(case.limits)[case.rank]
    moved = (
        case.counted + rng.integer(0, 5) if breached else max(1, case.counted - rng.integer(1, 5))
    )
    limits = tuple((rank, moved if rank == case.rank else limit) for rank, limit in case.limits)
    return turned(case, [replace(case, limits=limits)], solve)


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def render(case: Case, rng: Rng) -> Asked:
    """Limits and times as JSON or text."""
    json_style = rng.chance(0.4)
    verb = rng.choice(("within", "no later than", "in at most"))
    pause_rule = (
        rng.choice(("Waiting on the customer counts.", "The clock never stops."))
        if case.pauses_count
        else rng.choice(("Time on hold is not counted.", "Take off the minutes on hold."))
    )
    facts: dict[str, str | int | None] = {"class": case.rank, "handled by": case.agent}
    if case.clock:
        facts["opened at"] = _clock(case.start)
        end = None if case.taken is None else _clock(case.start + case.taken)
        facts[f"{case.goal} at"] = end
    else:
        facts[f"minutes until {case.goal}"] = case.taken
    if case.paused or not case.pauses_count:
        facts["minutes on hold"] = case.paused
    entries = rng.shuffled(list(facts.items()))
    if len(case.limits) == 1:
        entries = [entry for entry in entries if entry[0] != "class"]
    deciding = []
    if json_style:
        record: object = {key.replace(" ", "_"): value for key, value in entries}
        limits: JSONValue = {rank: f"{limit} minutes" for rank, limit in case.limits}
        if len(case.limits) == 1:
            limits = {"all": f"{case.limits[0][1]} minutes"}
        sections = [(case.noun.replace(" ", "_"), record), (f"{case.goal} limits", limits)]
        clock_rule = f"Limits are the most that is allowed. {pause_rule}"
        sections.append(("clock_rule", clock_rule))
        rule = [limits, clock_rule]
        deciding = [
            json_span(key.replace(" ", "_"), value) for key, value in entries if key != "handled by"
        ]
    else:
        lines = []
        for key, value in entries:
            line = f"{key[:1].upper()}{key[1:]}: {'not recorded' if value is None else value}"
            lines.append(line)
            if key != "handled by":
                deciding.append(line)
        if len(case.limits) == 1:
            rules = [f"Every {case.noun}: {case.goal} {verb} {case.limits[0][1]} minutes."]
        else:
            rules = [f"{rank}: {case.goal} {verb} {limit} minutes." for rank, limit in case.limits]
        agreed = rng.choice(("\n", " ")).join([*rules, pause_rule])
        sections = [
            (case.noun, "\n".join(lines) if rng.chance(0.7) else "; ".join(lines)),
            (rng.choice(("service levels", "targets", "agreement")), agreed),
        ]
        rule = [agreed]
    question = rng.choice(BREACHED if case.breach_asked else KEPT)
    return ask(
        rng,
        sections,
        question.format(noun=case.noun, goal=case.goal),
        deciding=deciding,
        rule=rule,
        setting=case.setting,
    )


BREACHED = _TABLES.words("breached")
KEPT = _TABLES.words("kept")
FAMILY = branch_family("sla_breach", "boolean", draw, solve, render, twin)
