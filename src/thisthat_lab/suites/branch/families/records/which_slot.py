"""Which slot fits: of several proposed times, the one that is free for everybody, or none."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import FIRST_NAMES, as_shown, join
from thisthat_lab.suites.branch.machinery import calendars
from thisthat_lab.suites.branch.machinery.calendars import (
    DAY_END,
    DAY_START,
    STEP,
    CalendarEntry,
    TimeSpan,
)
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_ASKS = _TABLES.words("asks")
_NONE = _TABLES.words("none")
_NAMES = _TABLES.words("names")
_TRIES = 300


@dataclass(frozen=True)
class SlotCase:
    """Calendars, who must come, the hours the meeting must keep to, and the slots."""

    entries: tuple[CalendarEntry, ...]
    invited: tuple[str, ...]
    hours: TimeSpan
    slots: tuple[TimeSpan, ...]
    setting: Setting
    look: int


def draw(rng: Rng, setting: Setting) -> SlotCase | None:
    """Three to five slots of which one fits, or none does."""
    people = rng.sample(FIRST_NAMES, rng.integer(1, 1 + setting.clauses))
    entries = calendars.draw_entries(people, rng.integer(2, 4), rng)
    invited = tuple(rng.sample(people, rng.integer(1, len(people))))
    hours = TimeSpan(DAY_START, rng.integer(60, 70) * STEP)
    if rng.chance(0.5):
        hours = TimeSpan(rng.integer(34, 44) * STEP, DAY_END)
    length = rng.integer(2, 4) * STEP
    count = rng.integer(3, 5)
    wanted = rng.below(count + 1)
    good: list[TimeSpan] = []
    bad: list[TimeSpan] = []
    for _ in range(_TRIES):
        start = rng.integer(DAY_START // STEP, (DAY_END - length) // STEP) * STEP
        span = TimeSpan(start, start + length)
        if span in good or span in bad:
            continue
        (good if _fits(span, entries, invited, hours) else bad).append(span)
        if good and len(bad) >= count:
            break
    if len(bad) < count or not good:
        return None
    slots = bad[:count]
    if wanted < count:
        slots[wanted] = good[0]
    return SlotCase(entries, invited, hours, tuple(slots), setting, rng.raw())


def _fits(
    span: TimeSpan, entries: tuple[CalendarEntry, ...], invited: tuple[str, ...], hours: TimeSpan
) -> bool:
    return (
        hours.start <= span.start
        and span.end <= hours.end
        and not any(entry.who in invited and entry.span.overlaps(span) for entry in entries)
    )


def solve(case: SlotCase) -> int:
    """The slot that fits; their number when none does."""
    for index, slot in enumerate(case.slots):
        if _fits(slot, case.entries, case.invited, case.hours):
            return index
    return len(case.slots)


def render(case: SlotCase, rng: Rng) -> Asked:
    """The case written down."""
    rng = Rng(case.look, "words")
    style = rng.choice(("24", "12"))
    limit = (
        f"it has to be over by {calendars.clock(case.hours.end, style)} at the latest"
        if case.hours.start == DAY_START
        else f"it must not begin before {calendars.clock(case.hours.start, style)}"
    )
    need = f"{join(case.invited)} must be there, and {limit}. "
    need += "A meeting may begin when another one ends."
    question = rng.choice(_ASKS)
    notes = [("Needed", need)]
    if rng.chance(0.4):
        notes, question = [], f"{need} {question}"
    times = [calendars.clock_span(slot, style, rng) for slot in case.slots]
    options: list[tuple[str, str | None]] = [(time, None) for time in times]
    if rng.chance(0.4):
        options = [(name, time) for name, time in zip(_NAMES, times, strict=False)]
    options.append((rng.choice(_NONE), None))
    written = calendars.write_calendar(
        case.entries, notes, style, case.setting, Rng(case.look, "layout")
    )
    shown = [written.pieces[entry] for entry in case.entries if entry.who in case.invited]
    return Asked(
        written.state,
        question,
        tuple(options),
        {
            "deciding": list(dict.fromkeys(shown)),
            "rule": as_shown(written.state, *(text for _, text in notes)),
            "clauses": 1 + len(case.invited),
            "place": "state",
        },
    )


FAMILY = branch_family("which_slot", "choice", draw, solve, render)
