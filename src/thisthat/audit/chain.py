"""The hash chain over the decision log: every line and event is bound to all before it.

A place in the chain has a number, a line or an event (the beginning, a purge, a loss, a row beside
the decisions, a note of what the loop did by itself), and a link: the sha256 over the link before
it and its own content. Knows no database.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from thisthat.audit.entry import COLUMNS, NUMBERS, Entry, values_of
from thisthat.errors import InvalidInputError

_encode = json.JSONEncoder(default=repr).encode

Run = tuple[int, int, str]
"""Purged places: the first, the last and the link of the last."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the chain: a line by its id in the database, or an event as JSON text."""

    number: int
    line: int | None
    event: str | None
    link: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a log stood: kept elsewhere, it shows later whether lines up to there are the same.

    ``log`` is the link of the log's beginning, ``at`` a time in seconds since 1970.
    """

    log: str
    number: int
    link: str
    at: float

    def as_line(self) -> str:
        """The anchor as one line of JSON."""
        return json.dumps(asdict(self) | {"at": moment(self.at)})


def read_anchors(text: str, field: str) -> list[Anchor]:
    """The anchors of a file, one a line. Raises InvalidInputError naming the line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
            at = datetime.fromisoformat(value["at"]).timestamp()
            found.append(Anchor(str(value["log"]), int(value["number"]), str(value["link"]), at))
        except (ValueError, KeyError, TypeError, OverflowError):
            raise InvalidInputError(field, f"line {number} is no anchor") from None
    if not found:
        raise InvalidInputError(field, "has no anchor")
    return found


def beginning(after: int, unchained: int) -> Place:
    """The first place of a log whose lines up to the id ``after`` were written without a chain."""
    event = {"at": time.time(), "salt": secrets.token_hex(16), "after": after, "lines": unchained}
    return _event(None, "begin", event)


def unchained_up_to(first: Place) -> int:
    """The ``after`` of the beginning; 0 where it cannot be read."""
    try:
        return int(events_in(first)["begin"]["after"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0


def purge_of(last: Place, before: float, lines: int, runs: Sequence[Run]) -> Place:
    """The place after ``last`` that records a purge of so many lines, at these places."""
    return _event(
        last, "purge", {"at": time.time(), "before": before, "lines": lines, "runs": runs}
    )


def loss_of(last: Place, known: Place) -> Place:
    """The place after ``last`` that records that ``known``, once written, is no longer there."""
    return _event(last, "loss", {"at": time.time(), "number": known.number, "link": known.link})


def rows_of(last: Place, table: str, rows: Sequence[Sequence[Any]]) -> list[Place]:
    """The places after ``last`` of rows beside the decisions; the last value is when it came."""
    found = []
    for row in rows:
        last = _event(last, "row", {"at": row[-1], "table": table, "sha256": row_hash(row)})
        found.append(last)
    return found


def row_hash(row: Sequence[Any]) -> str:
    """sha256 over a row beside the decisions."""
    return hashlib.sha256(_encode(list(row)).encode()).hexdigest()


def note_of(last: Place, about: Mapping[str, Any]) -> Place:
    """The place after ``last`` that records what was done without anybody asking for it."""
    return _event(last, "note", {"at": time.time(), **about})


def _event(last: Place | None, kind: str, about: dict[str, Any]) -> Place:
    text = json.dumps({kind: about})
    number = 0 if last is None else last.number + 1
    return Place(number, None, text, link("" if last is None else last.link, number, [text]))


def places_of(last: Place, first_line: int, entries: Sequence[Entry]) -> list[Place]:
    """The places after ``last`` of lines with ids from ``first_line`` on."""
    found = []
    for line, entry in enumerate(entries, first_line):
        number = last.number + 1
        last = Place(number, line, None, link(last.link, number, content(line, entry)))
        found.append(last)
    return found


def link(before: str, number: int, parts: Sequence[Any]) -> str:
    """sha256 over the link before, the number and the content."""
    return hashlib.sha256(_encode([before, number, *parts]).encode()).hexdigest()


def content(line: int, entry: Entry) -> list[Any]:
    """What a link covers of a line: all of it, numbers as the database gives them back."""
    values = dict(zip(COLUMNS, values_of(entry), strict=True))
    whole = {name: float(values[name]) for name in NUMBERS if isinstance(values[name], int)}
    return [line, *(values | whole).values()]


def runs_of(places: Iterable[tuple[int, str]]) -> list[Run]:
    """Numbers and links in ascending order as runs of consecutive ones."""
    found: list[Run] = []
    for number, its_link in places:
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number, its_link)
        else:
            found.append((number, number, its_link))
    return found


def events_in(place: Place) -> dict[str, Any]:
    """The event at a place, by its kind. Raises ValueError for what is none."""
    value = json.loads(place.event or "")
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise ValueError("no event")
    return value


def purged(place: Place) -> list[Run]:
    """The runs that the event at a place says were purged; none where it cannot be read."""
    try:
        runs = events_in(place).get("purge", {}).get("runs", [])
        return [(int(first), int(last), str(its_link)) for first, last, its_link in runs]
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []


def moment(at: float) -> str:
    """A time for people and files."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat()
