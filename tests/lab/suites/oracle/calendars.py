"""Meetings, minute by minute."""

from __future__ import annotations

import re

from tests.lab.suites.oracle import reading
from thisthat.items.item import Item

_CLOCK = r"\d+:\d\d(?: [ap]m)?"
_SPAN = rf"({_CLOCK})(?:-| to )({_CLOCK})"


def _minutes(span: tuple[str, str] | re.Match[str], gap: int = 0) -> set[int]:
    start, end = (span[1], span[2]) if isinstance(span, re.Match) else span
    return set(range(reading.clock(start) - gap, reading.clock(end) + gap))


def _busy(item: Item) -> list[tuple[str, set[int]]]:
    """Who is busy, and in which minutes."""
    if isinstance(item.state, dict):
        return [
            (row["who"], _minutes((row["start"], row["end"]))) for row in item.state["calendar"]
        ]
    assert isinstance(item.state, str)
    (block,) = [
        one
        for one in item.state.split("\n\n")
        if one.split("\n")[0].strip("#[]: ").lower() == "calendar"
    ]
    found, who = [], ""
    for line in block.splitlines()[1:]:
        if named := re.fullmatch(r"(\w+):", line):
            who = named[1]
        elif grouped := re.fullmatch(rf"  {_SPAN} .*", line):
            found.append((who, _minutes(grouped)))
        elif single := re.fullmatch(rf"(\w+): .*, {_SPAN}", line):
            found.append((single[1], _minutes((single[2], single[3]))))
        else:
            assert line == "(empty)", line
    return found


def meeting_conflict(item: Item) -> int:
    """Whether anybody invited is busy in one of the minutes, or too close to them."""
    said = "\n".join([item.question, *reading.texts_in(item.state)])
    proposal = re.search(rf"{_SPAN}, with ([\w, ]+)", said)
    assert proposal is not None
    invited = re.split(r", | and ", proposal[3])
    gap = re.search(r"at least (\d+) minutes between", said)
    assert gap or "may begin at the minute at which another one ends" in said
    asked = _minutes(proposal, int(gap[1]) if gap else 0)
    clash = any(who in invited and asked & minutes for who, minutes in _busy(item))
    free = re.search(r"free for everyone|held as proposed|people invited available", item.question)
    return reading.yes_no(item, {clash is (free is None)})


def which_slot(item: Item) -> int:
    """The only slot in which nobody needed is busy and that keeps to the hours."""
    said = "\n".join([item.question, *reading.texts_in(item.state)])
    needed = re.search(r"([\w, ]+) must be there, and it (.*?)\. A meeting may begin", said)
    assert needed is not None
    people = re.split(r", | and ", needed[1].strip())
    over = re.fullmatch(rf"has to be over by ({_CLOCK}) at the latest", needed[2])
    begin = re.fullmatch(rf"must not begin before ({_CLOCK})", needed[2])
    busy = set().union(*(minutes for who, minutes in _busy(item) if who in people))
    fitting = []
    for place, (name, text) in enumerate(item.options):
        span = re.fullmatch(_SPAN, text or name)
        if span is None:
            nothing = place
            continue
        minutes = _minutes(span)
        late = over is not None and max(minutes) + 1 > reading.clock(over[1])
        early = begin is not None and min(minutes) < reading.clock(begin[1])
        if not (late or early or minutes & busy):
            fitting.append(place)
    assert (over is None) != (begin is None)
    assert len(fitting) <= 1
    return fitting[0] if fitting else nothing
