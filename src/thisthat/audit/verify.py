"""Do decisions and outcomes fit the log's chain, and the chain its anchors? Names what does not."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thisthat.audit.beside import OUTCOMES
from thisthat.audit.chain import (
    Anchor,
    Place,
    Run,
    content,
    events_in,
    link,
    moment,
    purged,
    row_hash,
)
from thisthat.audit.entry import Entry
from thisthat.audit.protocol import LogError, Store
from thisthat.display import counted


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something that does not fit, at the number of a line (its id, where it has no number)."""

    number: int
    what: str


@dataclass(slots=True)
class VerifyReport:
    """What ``verify`` found: ``findings`` in the order of the log, ``notes`` to know of.

    ``unchained`` lines were written before the log had a chain; nothing vouches for them.
    """

    lines: int = 0
    outcomes: int = 0
    unchained: int = 0
    last: int | None = None
    fitting: int = 0
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether there is a chain and everything fits it."""
        return self.last is not None and not self.findings


def anchor_of(store: Store) -> Anchor:
    """Where the log stands now. Raises LogError for a log without a chain."""
    ends = store.ends()
    if ends is None:
        raise LogError("the log has no chain: it was written by an older version")
    first, last = ends
    return Anchor(first.link, last.number, last.link, float(int(time.time())))


def verify(store: Store, anchors: Sequence[Anchor] = ()) -> VerifyReport:
    """Compare every line with the chain and the chain with the anchors. Raises LogError."""
    while True:
        purges = _purges(store)
        report = _Walk(purges, anchors).over(store)
        # A purge in the meantime explains what seems to be missing.
        if report.whole or purges == _purges(store):
            return report


def _purges(store: Store) -> list[Place]:
    return [place for place, _ in store.chain(events=True) if '"purge"' in (place.event or "")]


class _Walk:
    def __init__(self, events: Sequence[Place], anchors: Sequence[Anchor]) -> None:
        self._runs: dict[int, Run] = {run[0]: run for each in events for run in purged(each)}
        self._starts = sorted(self._runs)
        self._anchors = sorted(anchors, key=lambda anchor: anchor.number)
        self._links: dict[int, str] = {}
        self._report = VerifyReport()
        self._first: Place | None = None
        self._after = self._unchained = 0
        self._rows: dict[int, tuple[str, float]] = {}
        self._purged_before = 0.0

    def over(self, store: Store) -> VerifyReport:
        report, wanted = self._report, {anchor.number for anchor in self._anchors}
        expected, before = 0, ""
        for place, entry in store.chain():
            for run in self._missing(expected, place.number):
                before = run[2]
                if run[1] in wanted:
                    self._links[run[1]] = before
            if place.event is None:
                report.lines += 1
                parts = None if entry is None else content(place.line or 0, entry)
            else:
                parts = [place.event]
                self._event(place)
            if parts is None:
                self._find(place.number, f"line {place.number} was removed")
            elif link(before, place.number, parts) != place.link:
                self._find(place.number, f"{_described(place, entry)} was changed")
            if place.number in wanted:
                self._links[place.number] = place.link
            self._first = self._first or place
            expected, before = place.number + 1, place.link
            report.last = place.number
        self._strays(store)
        self._outcomes(store)
        self._compare()
        report.findings.sort()
        return report

    def _missing(self, expected: int, number: int) -> Iterator[Run]:
        """The purges between; what no purge covers is a finding."""
        at = bisect_left(self._starts, expected)
        while expected < number:
            start = self._starts[at] if at < len(self._starts) else number
            self._absent(expected, min(start, number))
            if start >= number:
                return
            run = self._runs[start]
            yield run
            expected, at = max(run[1] + 1, start + 1), bisect_left(self._starts, run[1] + 1)

    def _absent(self, first: int, end: int) -> None:
        if first < end:
            which = f"line {first} was" if end - first == 1 else f"lines {first} to {end - 1} were"
            self._find(first, f"{which} removed")

    def _event(self, place: Place) -> None:
        try:
            [(kind, about)] = events_in(place).items()
            at = moment(about["at"])
            if kind == "begin" and place.number == 0:
                self._after, self._unchained = int(about["after"]), int(about["lines"])
            elif kind == "purge":
                many, before = int(about["lines"]), moment(about["before"])
                note = f"{counted(many, 'line')} from before {before} {_were(many)} purged"
                self._report.notes.append(f"{place.number}: {at}: {note}")
                self._purged_before = max(self._purged_before, float(about["before"]))
            elif kind == "row" and about["table"] == OUTCOMES.name:
                self._rows[place.number] = (str(about["sha256"]), float(about["at"]))
            elif kind == "note":
                self._report.notes.append(f"{place.number}: {at}: {about['what']}")
            elif kind == "loss":
                what = f"lines up to {about['number']} had disappeared when writing went on at {at}"
                self._find(place.number, f"record {place.number}: {what}")
            else:
                raise ValueError(kind)
        except (ValueError, KeyError, TypeError, OverflowError, OSError, RecursionError):
            self._find(place.number, f"record {place.number} cannot be read")

    def _strays(self, store: Store) -> None:
        report = self._report
        for number, entry in store.strays():
            if self._first is None or number <= self._after:
                report.unchained += 1
            else:
                said = _described(Place(number, number, None, ""), entry)
                self._find(number, f"{said} was inserted: it has no place in the chain")
        if self._first is not None and report.unchained > self._unchained:
            many = report.unchained - self._unchained
            what = f"{counted(many, 'line')} {_were(many)} inserted"
            self._find(0, f"{what} among those from before the chain")

    def _outcomes(self, store: Store) -> None:
        """Compare the outcomes with their places; what was purged may be missing."""
        left, last = self._rows, self._report.last
        for place, row in store.rows_after(OUTCOMES, None):
            if place is None or place not in left:
                if place is None or last is None or place <= last:
                    what = f"outcome {row[0]} was inserted: it has no place in the chain"
                    self._find(place or 0, what)
                continue
            self._report.outcomes += 1
            if row_hash(row) != left.pop(place)[0]:
                self._find(place, f"outcome {row[0]}, recorded at {place}, was changed")
        for place, (_, at) in left.items():
            if at >= self._purged_before:
                self._find(place, f"the outcome recorded at {place} was removed")

    def _compare(self) -> None:
        report, fitting = self._report, 0
        for anchor in self._anchors:
            said = f"the anchor of {moment(anchor.at)}"
            if report.last is None:
                self._find(0, f"{said} is of a log with a chain")
            elif self._first is None or self._first.link != anchor.log:
                self._find(0, f"{said} is of another log: this one was replaced or begun anew")
            elif anchor.number > report.last:
                what = f"the log ends at {report.last}, but reached {anchor.number} at {said}"
                self._find(report.last + 1, f"line {report.last + 1} was removed: {what}")
            elif anchor.number not in self._links:
                report.notes.append(f"{said} cannot be compared: line {anchor.number} was purged")
            elif self._links[anchor.number] != anchor.link:
                what = f"does not fit: something from {fitting + 1} to {anchor.number} was"
                self._find(fitting + 1, f"{said} {what} rewritten, and all links after it")
            else:
                fitting = anchor.number
                report.fitting += 1

    def _find(self, number: int, what: str) -> None:
        self._report.findings.append(Finding(number, what))


def _were(many: int) -> str:
    return "was" if many == 1 else "were"


def _described(place: Place, entry: Entry | None) -> str:
    if entry is None:
        return f"record {place.number}"
    try:
        at = moment(float(entry.time))
    except (ValueError, TypeError, OverflowError, OSError):
        at = "no time"
    request = "" if entry.request is None else f", request {entry.request}"
    return f"line {place.number} ({at}{request}, question {entry.question})"
