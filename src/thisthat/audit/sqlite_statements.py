"""What the decision log says to SQLite."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thisthat.audit.beside import Row, Table
from thisthat.audit.chain import Place
from thisthat.audit.entry import COLUMNS, Entry, values_of
from thisthat.audit.protocol import known_filter

_KEPT = ", ".join(COLUMNS)
_ROWS_AT_ONCE = (32, 8, 4, 2, 1)
"""How many rows a statement adds; 32 lines stay below the 999 values that any SQLite takes."""


class SQLiteStatements:
    """A ``Transaction`` over a connection that is in one."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def has_table(self, name: str) -> bool:
        """See Transaction."""
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self._first(query, name) is not None

    def lock(self) -> None:
        """See Transaction. A transaction that writes has the file's lock from its beginning."""

    def end_place(self, *, last: bool) -> Place | None:
        """See Transaction."""
        order = "DESC" if last else "ASC"
        row = self._first(f"SELECT * FROM chain ORDER BY number {order} LIMIT 1")
        return None if row is None else Place(*row)

    def place(self, number: int) -> Place | None:
        """See Transaction."""
        row = self._first("SELECT * FROM chain WHERE number = ?", number)
        return None if row is None else Place(*row)

    def events_after(self, number: int) -> Iterable[Place]:
        """See Transaction."""
        query = "SELECT * FROM chain WHERE event IS NOT NULL AND number > ?"
        return [Place(*row) for row in self._connection.execute(query, (number,))]

    def old_places(self, before: float) -> Iterable[tuple[int, str]]:
        """See Transaction."""
        query = "SELECT number, link FROM chain JOIN decisions ON line = id WHERE time < ?"
        return self._connection.execute(f"{query} ORDER BY number", (before,))

    def chained_lines(self, *, events: bool) -> Iterator[tuple[Place, Entry | None]]:
        """See Transaction."""
        some = "WHERE event IS NOT NULL " if events else ""
        query = (
            f"SELECT number, line, event, link, id, {_KEPT} FROM chain "
            f"LEFT JOIN decisions ON id = line {some}ORDER BY number"
        )
        for number, line, event, link, found, *values in self._connection.execute(query):
            entry = None if found is None else Entry(*values)
            yield Place(number, line, event, link), entry

    def insert_places(self, places: Sequence[Place]) -> None:
        """See Transaction."""
        rows = [(each.number, each.line, each.event, each.link) for each in places]
        self._insert("chain", rows)

    def delete_places(self, first: int, last: int) -> None:
        """See Transaction."""
        query = "DELETE FROM chain WHERE number BETWEEN ? AND ?"
        self._connection.execute(query, (first, last))

    def line_count(self) -> tuple[int, int]:
        """See Transaction."""
        highest, count = self._one("SELECT COALESCE(MAX(id), 0), COUNT(*) FROM decisions")
        return highest, count

    def last_id(self) -> int:
        """See Transaction. Ids of deleted lines are not used again."""
        query = "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'decisions'"
        return int(self._one(query)[0])

    def lines(
        self, where: Mapping[str, str], since: float | None, until: float | None, limit: int | None
    ) -> Iterator[tuple[int, Entry]]:
        """See Transaction."""
        condition, values = _condition(where, since, until)
        query = f"SELECT id, {_KEPT} FROM decisions{condition} ORDER BY time DESC, id DESC"
        query += "" if limit is None else f" LIMIT {int(limit)}"
        for line, *row in self._connection.execute(query, values):
            yield line, Entry(*row)

    def strays(self, *, chained: bool) -> Iterator[tuple[int, Entry]]:
        """See Transaction."""
        query = f"SELECT id, {_KEPT} FROM decisions"
        query += " WHERE NOT EXISTS (SELECT 1 FROM chain WHERE line = id)" if chained else ""
        for number, *values in self._connection.execute(f"{query} ORDER BY id"):
            yield number, Entry(*values)

    def insert_lines(self, lines: Sequence[tuple[int, Entry]]) -> None:
        """See Transaction."""
        rows = [(number, *values_of(entry)) for number, entry in lines]
        self._insert(f"decisions (id, {_KEPT})", rows)

    def delete_lines(self, before: float) -> int:
        """See Transaction. The triggers allow what is recorded in ``purges``."""
        self._connection.execute("INSERT INTO purges VALUES (?, ?)", (time.time(), before))
        query = "DELETE FROM decisions WHERE time < ?"
        return self._connection.execute(query, (before,)).rowcount

    def rows(self, table: Table, where: Mapping[str, str]) -> Iterator[Row]:
        """See Transaction."""
        condition = " AND ".join(f"{name} = ?" for name in where)
        query = f"SELECT {', '.join(table.columns)} FROM {table.name}"
        query += f" WHERE {condition}" if condition else ""
        yield from self._connection.execute(query, list(where.values()))

    def rows_after(self, table: Table, place: int | None) -> Iterator[tuple[int | None, Row]]:
        """See Transaction."""
        query = f"SELECT place, {', '.join(table.columns)} FROM {table.name}"
        query += "" if place is None else f" WHERE place > {int(place)}"
        for at, *row in self._connection.execute(f"{query} ORDER BY place"):
            yield at, tuple(row)

    def rows_of_keys(self, table: Table, keys: Sequence[Any]) -> Iterable[Row]:
        """See Transaction."""
        query = f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE key = ?"
        found = (self._first(query, key) for key in keys)
        return (row for row in found if row is not None)

    def insert_rows(self, table: Table, rows: Sequence[Row], places: Sequence[Place]) -> None:
        """See Transaction."""
        columns = [*table.columns, *(["place"] if places else [])]
        if places:
            rows = [(*row, each.number) for row, each in zip(rows, places, strict=True)]
        self._insert(f"{table.name} ({', '.join(columns)})", rows)

    def delete_rows(self, table: Table, before: float) -> None:
        """See Transaction."""
        self._connection.execute(f"DELETE FROM {table.name} WHERE recorded < ?", (before,))

    def _insert(self, into: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows, many in a statement: between two, every busy thread has its turn."""
        done = 0
        while done < len(rows):
            size = next(size for size in _ROWS_AT_ONCE if size <= len(rows) - done)
            marks = f"({', '.join('?' * len(rows[done]))})"
            query = f"INSERT INTO {into} VALUES {', '.join([marks] * size)}"
            self._connection.execute(query, [v for row in rows[done : done + size] for v in row])
            done += size

    def _first(self, query: str, *values: Any) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        return found

    def _one(self, query: str) -> tuple[Any, ...]:
        [found] = self._connection.execute(query)
        return tuple(found)


def _condition(
    where: Mapping[str, str], since: float | None, until: float | None
) -> tuple[str, list[Any]]:
    parts = [f"{known_filter(name, value)} = ?" for name, value in where.items()]
    values: list[Any] = list(where.values())
    for sign, moment in ((">=", since), ("<", until)):
        if moment is not None:
            parts.append(f"time {sign} ?")
            values.append(moment)
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values
