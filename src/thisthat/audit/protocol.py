"""What every place for log lines does, and the rules they share."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, get_args

from thisthat.audit.beside import Row, Table
from thisthat.audit.chain import Place, purged
from thisthat.audit.entry import Entry
from thisthat.errors import InvalidInputError, ThisThatError
from thisthat.questions import Action

FILTERS = (
    "id",
    "request",
    "question",
    "schema",
    "state_hash",
    "policy",
    "action",
    "checkpoint",
    "version",
)


class LogError(ThisThatError):
    """The decision log's database cannot be used right now; the message says why."""


class NoLogYetError(LogError):
    """There is no log yet: no file, or no tables. The first decision makes them."""


class Store(Protocol):
    """A place for log lines."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the lines durably, all or none; without any, only the chain is begun.

        Raises LogError, after which a retry may help; any other error is about one of the lines.
        """

    def read(
        self, where: Mapping[str, str], since: float | None, until: float | None, limit: int | None
    ) -> Iterator[Entry]:
        """The lines that match, newest first. Raises LogError; NoLogYetError before the first."""

    def lines(
        self, where: Mapping[str, str], since: float | None, until: float | None, limit: int | None
    ) -> Iterator[tuple[int, Entry]]:
        """Like ``read``, with the lines' ids."""

    def add(self, table: Table, rows: Sequence[Row]) -> int:
        """Write the rows whose keys are new durably, all or none; returns how many those are.

        Any thread may call it. Raises LogError, and KeyTakenError for a key that stands for
        something else.
        """

    def rows(self, table: Table, where: Mapping[str, str] | None = None) -> Iterator[Row]:
        """The rows of a table beside the decisions that match, in no order. Raises LogError."""

    def rows_after(self, table: Table, place: int | None) -> Iterator[tuple[int | None, Row]]:
        """The rows of a chained table behind a place, in order; all of them for None.

        Raises LogError.
        """

    def note(self, about: Mapping[str, Any]) -> None:
        """Write into the chain, durably, what was done without anybody asking for it.

        Any thread may call it. Raises LogError.
        """

    def purge(self, before: float) -> int:
        """Delete lines older than ``before``, on record; returns how many there were.

        Rows beside them that were recorded before go, too. Raises LogError, and InvalidInputError
        for a time in the future.
        """

    def ends(self) -> tuple[Place, Place] | None:
        """The first and the last place of the chain; None without one. Raises LogError."""

    def chain(self, *, events: bool = False) -> Iterator[tuple[Place, Entry | None]]:
        """The places of the chain in order, with their lines, or only its events.

        Raises LogError.
        """

    def strays(self) -> Iterator[tuple[int, Entry]]:
        """Lines that have no place in the chain, by their id. Raises LogError."""

    def close(self) -> None:
        """Close the database."""


def lost(known: Place, last: Place) -> LogError:
    """The error for a log from which places that this process wrote have disappeared."""
    return LogError(
        f"lines up to {known.number} that were written are no longer in the log, which ended at "
        f"{last.number}; this is on record at {last.number + 1}"
    )


def covers(events: Iterable[Place], number: int) -> bool:
    """Whether one of the events is a purge of the place with this number."""
    return any(first <= number <= last for each in events for first, last, _ in purged(each))


def check_past(before: float) -> None:
    """Refuse a future time: it would purge every line and unprotect later ones."""
    if before > time.time():
        raise InvalidInputError("before", "is in the future; only older lines can be purged")


def known_filter(name: str, value: str) -> str:
    """The name of a column that lines can be filtered by. Raises InvalidInputError."""
    if name not in FILTERS:
        raise InvalidInputError(name, f"cannot be filtered by; known are {', '.join(FILTERS)}")
    actions = get_args(Action)
    if name == "id" and not (value.isascii() and value.isdigit()):
        raise InvalidInputError(name, f"{value!r} is not a whole number")
    if name == "action" and value not in actions:
        raise InvalidInputError(name, f"{value!r} is not one of {', '.join(actions)}")
    return name
