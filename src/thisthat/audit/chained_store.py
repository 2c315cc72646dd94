"""The decision log over any database: what is appended, read and purged, and how it is chained.

Databases give transactions that know their SQL; the rules of the log stand here once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from thisthat.audit.beside import TABLES, Row, Table, beside, fresh
from thisthat.audit.chain import (
    Place,
    beginning,
    loss_of,
    note_of,
    places_of,
    purge_of,
    rows_of,
    runs_of,
)
from thisthat.audit.entry import Entry
from thisthat.audit.protocol import check_past, covers, lost

CHAIN = "chain"
"""The name of the chain's table."""

Result = TypeVar("Result")


class Transaction(Protocol):
    """The statements of one transaction; what they are for is not its business."""

    def has_table(self, name: str) -> bool:
        """Whether a table is there."""

    def lock(self) -> None:
        """Keep other writers out until the transaction ends, once the chain has begun."""

    def end_place(self, *, last: bool) -> Place | None:
        """The first or the last place of the chain."""

    def place(self, number: int) -> Place | None:
        """The place with a number."""

    def events_after(self, number: int) -> Iterable[Place]:
        """The events of the chain behind a number."""

    def old_places(self, before: float) -> Iterable[tuple[int, str]]:
        """Numbers and links of lines from before a time, in order."""

    def chained_lines(self, *, events: bool) -> Iterator[tuple[Place, Entry | None]]:
        """The places of the chain in order with their lines, or only its events."""

    def insert_places(self, places: Sequence[Place]) -> None:
        """Add places to the chain."""

    def delete_places(self, first: int, last: int) -> None:
        """Delete the places from one number to another."""

    def line_count(self) -> tuple[int, int]:
        """The highest id of a line (0 without any), and how many lines there are."""

    def last_id(self) -> int:
        """The highest id that may not be used for another line."""

    def lines(
        self, where: Mapping[str, str], since: float | None, until: float | None, limit: int | None
    ) -> Iterator[tuple[int, Entry]]:
        """The lines that match with their ids, newest first."""

    def strays(self, *, chained: bool) -> Iterator[tuple[int, Entry]]:
        """Lines without a place, by their id; all of them where nothing is ``chained``."""

    def insert_lines(self, lines: Sequence[tuple[int, Entry]]) -> None:
        """Add lines by their ids."""

    def delete_lines(self, before: float) -> int:
        """Delete the lines from before a time; returns how many there were."""

    def rows(self, table: Table, where: Mapping[str, str]) -> Iterator[Row]:
        """The rows of a table that match."""

    def rows_after(self, table: Table, place: int | None) -> Iterator[tuple[int | None, Row]]:
        """The rows of a chained table behind a place, in order, with their places."""

    def rows_of_keys(self, table: Table, keys: Sequence[Any]) -> Iterable[Row]:
        """The rows that have one of these keys."""

    def insert_rows(self, table: Table, rows: Sequence[Row], places: Sequence[Place]) -> None:
        """Add rows, each with its place if the table is chained."""

    def delete_rows(self, table: Table, before: float) -> None:
        """Delete the rows recorded before a time."""


class Database(Protocol):
    """Where transactions come from. All raise LogError, after which a retry may help."""

    def writing(self, *, create: bool = True) -> AbstractContextManager[Transaction]:
        """A transaction of the one thread that appends; a file must be there unless ``create``."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """A transaction that changes nothing."""

    def following(self) -> AbstractContextManager[Transaction]:
        """Like ``reading``, and cheap to call often; others wait until it ends."""

    def run(self, work: Callable[[Transaction], Result]) -> Result:
        """Do some work in a transaction of any thread, again if another writer came first."""

    def close(self) -> None:
        """Close the database."""


class ChainedStore:
    """A ``Store`` over a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._written: Place | None = None

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the lines in one transaction; without any, only the chain is begun.

        Raises LogError, also when the file or places that this object wrote have disappeared; such
        a loss is recorded in the chain before.
        """
        with self.database.writing() as on:
            last, known = _last(on), self._written
            gone = known is not None and not _has(on, known)
            if known is not None and gone:
                places = [loss_of(last, known)]
            else:
                first = on.last_id() + 1
                places = places_of(last, first, entries)
                on.insert_lines(list(enumerate(entries, first)))
                for table, rows in beside(entries).items():
                    _add(on, table, rows)
            on.insert_places(places)
        if places:
            self._written = places[-1]
        if known is not None and gone:
            raise lost(known, last)

    def read(
        self,
        where: Mapping[str, str] | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """The lines that match, newest first; a missing file raises LogError."""
        for _, entry in self.lines(where, since, until, limit):
            yield entry

    def lines(
        self,
        where: Mapping[str, str] | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> Iterator[tuple[int, Entry]]:
        """Like ``read``, with the lines' ids."""
        if {"id", "request"} & set(where or ()):  # few lines, looked up again and again
            with self.database.following() as on:
                few = list(on.lines(where or {}, since, until, limit))
            yield from few
            return
        with self.database.reading() as on:
            yield from on.lines(where or {}, since, until, limit)

    def add(self, table: Table, rows: Sequence[Row]) -> int:
        """Write the rows whose keys are new; any thread may call."""

        def add(on: Transaction) -> int:
            on.lock()
            return _add(on, table, rows)

        return self.database.run(add)

    def note(self, about: Mapping[str, Any]) -> None:
        """Write a note into the chain; any thread may call."""
        self.database.run(lambda on: on.insert_places([note_of(_last(on), about)]))

    def rows(self, table: Table, where: Mapping[str, str] | None = None) -> Iterator[Row]:
        """The rows of a table beside the decisions that match, in no order."""
        with self.database.reading() as on:
            if on.has_table(table.name):
                yield from on.rows(table, where or {})

    def rows_after(self, table: Table, place: int | None) -> Iterator[tuple[int | None, Row]]:
        """The rows of a chained table behind a place, in order; all of them for None."""
        with self.database.following() as on:
            found = list(on.rows_after(table, place)) if on.has_table(table.name) else []
        yield from found

    def purge(self, before: float) -> int:
        """Delete lines older than ``before`` and record the purge in the chain."""
        check_past(before)
        with self.database.writing(create=False) as on:
            last = _last(on)
            runs = runs_of(on.old_places(before))
            gone = on.delete_lines(before)
            for first, final, _ in runs:
                on.delete_places(first, final)
            for table in TABLES:
                on.delete_rows(table, before)
            on.insert_places([purge_of(last, before, gone, runs)])
        return gone

    def ends(self) -> tuple[Place, Place] | None:
        """The first and the last place of the chain."""
        with self.database.reading() as on:
            if not on.has_table(CHAIN):
                return None
            first, last = on.end_place(last=False), on.end_place(last=True)
        return None if first is None or last is None else (first, last)

    def chain(self, *, events: bool = False) -> Iterator[tuple[Place, Entry | None]]:
        """The places of the chain in order, with their lines, or only its events."""
        with self.database.reading() as on:
            if on.has_table(CHAIN):
                yield from on.chained_lines(events=events)

    def strays(self) -> Iterator[tuple[int, Entry]]:
        """Lines that have no place in the chain, by their id."""
        with self.database.reading() as on:
            yield from on.strays(chained=on.has_table(CHAIN))

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def _last(on: Transaction) -> Place:
    """The last place of the chain, no other writer's until the end; it begins if need be."""
    on.lock()
    last = on.end_place(last=True)
    if last is None:
        last = beginning(*on.line_count())
        on.insert_places([last])
    return last


def _has(on: Transaction, known: Place) -> bool:
    """Whether a place is still in the chain, or was purged."""
    found = on.place(known.number)
    if found is not None:
        return found.link == known.link
    return covers(on.events_after(known.number), known.number)


def _add(on: Transaction, table: Table, rows: Sequence[Row]) -> int:
    known = {str(row[0]): row for row in on.rows_of_keys(table, [row[0] for row in rows])}
    new = fresh(table, rows, known)
    places = rows_of(_last(on), table.name, new) if table.chained and new else []
    on.insert_places(places)
    on.insert_rows(table, new, places)
    return len(new)
