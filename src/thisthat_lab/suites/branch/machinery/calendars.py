"""Days full of meetings: who is busy when, and how a calendar is written.

Times are minutes since midnight. Shared by the families about meetings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thisthat.questions import Text, compact_json
from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.suites.base.family import Difficulty

DAY_START, DAY_END = 8 * 60, 18 * 60
STEP = 15
_TITLES = (
    "stand-up", "budget review", "interview", "dentist", "vendor call", "training", "lunch",
    "planning", "site visit", "one-to-one", "demo", "school run", "board call", "workshop",
)  # fmt: skip


@dataclass(frozen=True)
class TimeSpan:
    """From ``start`` up to, not including, ``end``."""

    start: int
    end: int

    def overlaps(self, other: TimeSpan, gap: int = 0) -> bool:
        """Whether the two share a minute, or are closer than ``gap`` minutes."""
        return self.start < other.end + gap and other.start < self.end + gap


@dataclass(frozen=True)
class CalendarEntry:
    """Something in somebody's calendar."""

    who: str
    what: str
    span: TimeSpan


def draw_entries(people: Sequence[str], each: int, rng: Rng) -> tuple[CalendarEntry, ...]:
    """Up to ``each`` entries for every person, without overlaps for one person."""
    entries: list[CalendarEntry] = []
    for who in people:
        taken: list[TimeSpan] = []
        for _ in range(each):
            start = rng.integer(DAY_START // STEP, DAY_END // STEP - 2) * STEP
            span = TimeSpan(start, min(DAY_END, start + STEP * rng.integer(2, 7)))
            if not any(span.overlaps(other) for other in taken):
                taken.append(span)
                entries.append(CalendarEntry(who, rng.choice(_TITLES), span))
    return tuple(sorted(entries, key=lambda entry: (entry.who, entry.span.start)))


def clock(minutes: int, style: str) -> str:
    """``14:30`` or ``2:30 pm``."""
    hour, minute = divmod(minutes, 60)
    if style == "24":
        return f"{hour:02d}:{minute:02d}"
    return f"{(hour + 11) % 12 + 1}:{minute:02d} {'am' if hour < 12 else 'pm'}"


def clock_span(span: TimeSpan, style: str, rng: Rng) -> str:
    """``14:30-15:00`` or ``from 14:30 to 15:00``."""
    start, end = clock(span.start, style), clock(span.end, style)
    return rng.choice((f"{start}-{end}", f"{start} to {end}"))


@dataclass(frozen=True)
class Written:
    """A calendar as a state, and the piece of it for each entry."""

    state: Text
    pieces: dict[CalendarEntry, str]


def write_calendar(
    entries: Sequence[CalendarEntry],
    notes: Sequence[tuple[str, str]],
    style: str,
    difficulty: Difficulty,
    rng: Rng,
) -> Written:
    """Entries and headed notes as text or JSON among idle material."""
    pieces: dict[CalendarEntry, str] = {}
    if rng.chance(0.4):
        rows = []
        for entry in entries:
            row = {
                "who": entry.who,
                "what": entry.what,
                "start": clock(entry.span.start, style),
                "end": clock(entry.span.end, style),
            }
            pieces[entry] = compact_json(row)
            rows.append(row)
        parts = [
            ("calendar", rows),
            *((heading.lower().replace(" ", "_"), text) for heading, text in notes),
        ]
        state: Text = wording.state_object(parts, rng, difficulty.distractors, difficulty.length)
        return Written(state, pieces)
    grouped = rng.chance(0.5)
    lines: list[str] = []
    last = ""
    for entry in entries:
        times = clock_span(entry.span, style, rng)
        line = f"{times} {entry.what}" if grouped else f"{entry.who}: {entry.what}, {times}"
        if grouped and entry.who != last:
            lines.append(f"{entry.who}:")
            last = entry.who
        lines.append(f"  {line}" if grouped else line)
        pieces[entry] = line
    sections = [("Calendar", "\n".join(lines) or "(empty)"), *notes]
    return Written(wording.sections(sections, rng, difficulty.length), pieces)
