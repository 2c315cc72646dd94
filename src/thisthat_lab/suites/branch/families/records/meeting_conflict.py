"""Meeting conflict: does a proposed meeting clash with the calendars of those invited?"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
_CLASH = _TABLES.words("clash")
_FREE = _TABLES.words("free")
_TRIES = 200


@dataclass(frozen=True)
class MeetingCase:
    """Calendars, who is invited, the proposed time and the break that must lie between."""

    entries: tuple[CalendarEntry, ...]
    invited: tuple[str, ...]
    proposed: TimeSpan
    gap: int
    asks_free: bool
    setting: Setting
    look: int


def draw(rng: Rng, setting: Setting) -> MeetingCase | None:
    """A case with a clash as often as not, whatever the calendars look like."""
    people = rng.sample(FIRST_NAMES, rng.integer(1, 1 + setting.clauses))
    entries = calendars.draw_entries(people, rng.integer(2, 4), rng)
    invited = tuple(rng.sample(people, rng.integer(1, len(people))))
    gap = rng.weighted((0, 10, 15, 30), (5, 1, 2, 1)) if setting.clauses > 1 else 0
    length = rng.integer(2, 5) * STEP
    wanted = rng.chance(0.5)
    case = MeetingCase(entries, invited, TimeSpan(0, 1), gap, rng.chance(0.5), setting, rng.raw())
    for _ in range(_TRIES):
        start = rng.integer(DAY_START // STEP, (DAY_END - length) // STEP) * STEP
        case = replace(case, proposed=TimeSpan(start, start + length))
        if bool(_clashes(case)) == wanted:
            return case
    return None


def _clashes(case: MeetingCase) -> list[CalendarEntry]:
    return [
        entry
        for entry in case.entries
        if entry.who in case.invited and entry.span.overlaps(case.proposed, case.gap)
    ]


def solve(case: MeetingCase) -> int:
    """1 for yes."""
    return int(bool(_clashes(case)) != case.asks_free)


def render(case: MeetingCase, rng: Rng) -> Asked:
    """The case written down."""
    rng = Rng(case.look, "words")
    style = rng.choice(("24", "12"))
    proposal = f"{calendars.clock_span(case.proposed, style, rng)}, with {join(case.invited)}"
    rule = (
        f"There must be at least {case.gap} minutes between two meetings of the same person."
        if case.gap
        else "A meeting may begin at the minute at which another one ends."
    )
    question = rng.choice(_FREE if case.asks_free else _CLASH)
    notes = [("Proposed meeting", proposal), ("Rule", rule)]
    if rng.chance(0.4):
        notes = notes[1:]
        question = f"A meeting is proposed: {proposal}. {question}"
    written = calendars.write_calendar(
        case.entries, notes, style, case.setting, Rng(case.look, "layout")
    )
    shown = _clashes(case) or [entry for entry in case.entries if entry.who in case.invited]
    deciding = list(dict.fromkeys(written.pieces[entry] for entry in shown))
    return Asked(
        written.state,
        question,
        facts={
            "deciding": deciding,
            "rule": as_shown(written.state, *(text for _, text in notes)),
            "clauses": len(case.invited),
            "place": "state",
        },
    )


def twin(case: MeetingCase, rng: Rng) -> MeetingCase | None:
    """The same calendars with the proposal moved by a little, and the other answer."""
    for shift in rng.shuffled([step * STEP for step in range(-6, 7) if step]):
        moved = TimeSpan(case.proposed.start + shift, case.proposed.end + shift)
        other = replace(case, proposed=moved)
        if moved.start >= DAY_START and moved.end <= DAY_END and solve(other) != solve(case):
            return other
    return None


FAMILY = branch_family("meeting_conflict", "boolean", draw, solve, render, twin, held_out=True)
