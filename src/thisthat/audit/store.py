"""Where log lines live: a SQLite file, or any database SQLAlchemy knows. Append, read, purge.

The SQLite file is in WAL mode and synced at every commit: what was committed survives a crash of
the program and of the machine. Triggers refuse changes by accident; changes on purpose do not fit
the chain (``chain.py``). Only its owner may read the file.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from thisthat.audit.alchemy_store import AlchemyStore
from thisthat.audit.beside import CLIENT_REQUESTS, TABLES, Row, Table, beside, fresh
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
from thisthat.audit.entry import COLUMNS, NUMBERS, Entry, values_of
from thisthat.audit.protocol import LogError, Store, check_past, covers, known_filter, lost

_KEPT = ", ".join(COLUMNS)
_NOW = "(julianday('now') - 2440587.5) * 86400"
_SQLITE = f"""
CREATE TABLE IF NOT EXISTS decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  {", ".join(f"{name} {'REAL' if name in NUMBERS else 'TEXT'}" for name in COLUMNS)}
);
CREATE INDEX IF NOT EXISTS decisions_by_time ON decisions (time);
CREATE INDEX IF NOT EXISTS decisions_by_request ON decisions (request);
CREATE TABLE IF NOT EXISTS purges (at REAL NOT NULL, before REAL NOT NULL);
CREATE TABLE IF NOT EXISTS chain (
  number INTEGER PRIMARY KEY, line INTEGER, event TEXT, link TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS chain_by_line ON chain (line);
CREATE INDEX IF NOT EXISTS chain_events ON chain (number) WHERE event IS NOT NULL;
CREATE TRIGGER IF NOT EXISTS decisions_do_not_change BEFORE UPDATE ON decisions
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS decisions_are_not_replaced BEFORE INSERT ON decisions
  WHEN EXISTS (SELECT 1 FROM decisions WHERE id = NEW.id)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS decisions_are_kept BEFORE DELETE ON decisions
  WHEN OLD.time >= (SELECT COALESCE(MAX(before), -1) FROM purges)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only; purge by age'); END;
CREATE TRIGGER IF NOT EXISTS purges_are_past BEFORE INSERT ON purges
  WHEN NEW.before > {_NOW} + 60
  BEGIN SELECT RAISE(ABORT, 'only older lines can be purged'); END;
CREATE TRIGGER IF NOT EXISTS chain_does_not_change BEFORE UPDATE ON chain
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS chain_is_not_replaced BEFORE INSERT ON chain
  WHEN EXISTS (SELECT 1 FROM chain WHERE number = NEW.number)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS chain_is_kept BEFORE DELETE ON chain
  WHEN OLD.line IS NULL OR EXISTS (SELECT 1 FROM decisions WHERE id = OLD.line)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only; purge by age'); END;
"""
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL"}


def _beside(table: Table) -> str:
    """A table beside the decisions: its rows neither change nor go, except by a purge."""
    name, message = table.name, "is append-only"
    columns = ", ".join(f"{each} {_TYPES[kind]}" for each, kind in table.columns.items())
    rules = {
        "do_not_change": "BEFORE UPDATE ON {0}",
        "are_not_replaced": "BEFORE INSERT ON {0} "
        "WHEN EXISTS (SELECT 1 FROM {0} WHERE key = NEW.key)",
        "are_kept": "BEFORE DELETE ON {0} "
        "WHEN OLD.recorded >= (SELECT COALESCE(MAX(before), -1) FROM purges)",
    }
    triggers = "".join(
        f"CREATE TRIGGER IF NOT EXISTS {name}_{rule} {when.format(name)} "
        f"BEGIN SELECT RAISE(ABORT, '{name} {message}'); END;\n"
        for rule, when in rules.items()
    )
    columns += ", place INTEGER UNIQUE" if table.chained else ""
    return f"CREATE TABLE IF NOT EXISTS {name} ({columns}, PRIMARY KEY (key));\n{triggers}"


_SQLITE += "".join(map(_beside, TABLES))
_SQLITE += f"CREATE INDEX IF NOT EXISTS requests_by_client ON {CLIENT_REQUESTS.name} (client);\n"
_ABOUT_A_LINE = (sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)

_ADD_SECONDS = 10.0
"""How long a row beside the decisions waits for its turn; somebody waits for it, too."""

_logger = logging.getLogger("thisthat.audit")


def open_store(place: str | Path) -> Store:
    """A path is a SQLite file; text with ``://`` is an SQLAlchemy URL. Opened on first use.

    Raises MissingExtraError for a URL without SQLAlchemy.
    """
    text = str(place)
    if "://" in text:
        return AlchemyStore(text)
    return SQLiteStore(Path(place))


class SQLiteStore:
    """A SQLite file, opened on first use and reopened after an error.

    Several processes may write to it: each append takes the file's write lock before it reads
    where the chain ends.
    """

    def __init__(self, path: str | Path, busy_seconds: float = 1.0) -> None:
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._file: list[tuple[int, int] | None] = []
        self._written: Place | None = None
        self._warned = False
        self._follows = threading.Lock()
        self._follower: tuple[sqlite3.Connection, tuple[int, int] | None] | None = None

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the lines in one transaction; without any, only the chain is begun.

        Raises LogError, also when the file or places that this object wrote have disappeared; such
        a loss is recorded in the chain before.
        """
        with self._writing() as connection:
            last, known = _last(connection), self._written
            gone = known is not None and not _has(connection, known)
            if known is not None and gone:
                places = [loss_of(last, known)]
            else:
                [(used,)] = connection.execute(
                    "SELECT COALESCE(MAX(seq), 0) FROM sqlite_sequence WHERE name = 'decisions'"
                )
                places = places_of(last, used + 1, entries)
                connection.executemany(
                    f"INSERT INTO decisions (id, {_KEPT}) VALUES (?{', ?' * len(COLUMNS)})",
                    ((p.line, *values_of(e)) for p, e in zip(places, entries, strict=True)),
                )
                for table, rows in beside(entries).items():
                    _add(connection, table, rows)
            _insert(connection, places)
        try:
            self._check_place()
        except OSError as error:
            raise LogError(f"{self.path}: {error}") from error
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
        condition, values = _condition(where or {}, since, until)
        query = f"SELECT id, {_KEPT} FROM decisions{condition} ORDER BY time DESC, id DESC"
        query += "" if limit is None else f" LIMIT {int(limit)}"
        if {"id", "request"} & set(where or ()):  # few lines, looked up again and again
            with self._following() as connection:
                few = connection.execute(query, values).fetchall()
            for line, *row in few:
                yield line, Entry(*row)
            return
        with self._reading() as connection:
            for line, *row in connection.execute(query, values):
                yield line, Entry(*row)

    def add(self, table: Table, rows: Sequence[Row]) -> int:
        """Write the rows whose keys are new; any thread may call."""
        with self._adding() as connection:
            return _add(connection, table, rows)

    def note(self, about: Mapping[str, Any]) -> None:
        """Write a note into the chain; any thread may call."""
        with self._adding() as connection:
            _insert(connection, [note_of(_last(connection), about)])

    def rows_after(self, table: Table, place: int | None) -> Iterator[tuple[int | None, Row]]:
        """The rows of a chained table behind a place, in order; all of them for None."""
        query = f"SELECT place, {', '.join(table.columns)} FROM {table.name}"
        query += "" if place is None else f" WHERE place > {int(place)}"
        found = list[tuple[Any, ...]]()
        with self._following() as connection:
            if _has_table(connection, table.name):
                found = connection.execute(f"{query} ORDER BY place").fetchall()
        for at, *row in found:
            yield at, tuple(row)

    def rows(self, table: Table, where: Mapping[str, str] | None = None) -> Iterator[Row]:
        """The rows of a table beside the decisions that match, in no order."""
        condition = " AND ".join(f"{name} = ?" for name in where or ())
        query = f"SELECT {', '.join(table.columns)} FROM {table.name}"
        query += f" WHERE {condition}" if condition else ""
        with self._reading() as connection:
            if _has_table(connection, table.name):
                yield from connection.execute(query, list((where or {}).values()))

    def purge(self, before: float) -> int:
        """Delete lines older than ``before`` and record the purge in the chain."""
        check_past(before)
        self._check_there()
        with self._writing() as connection:
            last = _last(connection)
            runs = runs_of(
                connection.execute(
                    "SELECT number, link FROM chain JOIN decisions ON line = id WHERE time < ? "
                    "ORDER BY number",
                    (before,),
                )
            )
            connection.execute("INSERT INTO purges VALUES (?, ?)", (time.time(), before))
            gone = connection.execute("DELETE FROM decisions WHERE time < ?", (before,)).rowcount
            for first, final, _ in runs:
                connection.execute("DELETE FROM chain WHERE number BETWEEN ? AND ?", (first, final))
            for table in TABLES:
                connection.execute(f"DELETE FROM {table.name} WHERE recorded < ?", (before,))
            _insert(connection, [purge_of(last, before, gone, runs)])
        return gone

    def ends(self) -> tuple[Place, Place] | None:
        """The first and the last place of the chain."""
        with self._reading() as connection:
            if not _has_table(connection, "chain"):
                return None
            both = [
                connection.execute(f"SELECT * FROM chain ORDER BY number {way} LIMIT 1").fetchone()
                for way in ("ASC", "DESC")
            ]
        return None if both[0] is None else (Place(*both[0]), Place(*both[1]))

    def chain(self, *, events: bool = False) -> Iterator[tuple[Place, Entry | None]]:
        """The places of the chain in order, with their lines, or only its events."""
        some = "WHERE event IS NOT NULL " if events else ""
        query = (
            f"SELECT number, line, event, link, id, {_KEPT} FROM chain "
            f"LEFT JOIN decisions ON id = line {some}ORDER BY number"
        )
        with self._reading() as connection:
            if _has_table(connection, "chain"):
                for number, line, event, link, found, *values in connection.execute(query):
                    entry = None if found is None else Entry(*values)
                    yield Place(number, line, event, link), entry

    def strays(self) -> Iterator[tuple[int, Entry]]:
        """Lines that have no place in the chain, by their id."""
        with self._reading() as connection:
            query = f"SELECT id, {_KEPT} FROM decisions"
            if _has_table(connection, "chain"):
                query += " WHERE NOT EXISTS (SELECT 1 FROM chain WHERE line = id)"
            for number, *values in connection.execute(f"{query} ORDER BY id"):
                yield number, Entry(*values)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        with self._follows:
            self._leave()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._errors(), _transaction(self._open()) as connection:
                yield connection
        except LogError:
            self.close()
            raise

    @contextmanager
    def _adding(self) -> Iterator[sqlite3.Connection]:
        """A transaction over a connection of its own."""
        with self._errors():
            self._create()
            with closing(self._prepared(_ADD_SECONDS)) as connection, _transaction(connection):
                yield connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the database and the disk as LogError, unless they are about a line."""
        try:
            yield
        except _ABOUT_A_LINE:
            raise
        except (sqlite3.Error, OSError) as error:
            raise LogError(f"{self.path}: {error}") from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        self._check_there()
        try:
            with closing(self._connect(self._how_to_read())) as connection:
                connection.execute("PRAGMA query_only = ON")
                yield connection
        except sqlite3.Error as error:
            raise LogError(f"{self.path}: {error}") from error

    @contextmanager
    def _following(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with again and again: opening one costs more than reading does."""
        self._check_there()
        with self._follows:
            file = _identity(self.path)
            if self._follower is None or self._follower[1] != file:
                self._leave()
                with self._errors():
                    self._follower = self._connect(self._how_to_read()), file
            try:
                yield self._follower[0]
            except sqlite3.Error as error:
                self._leave()
                raise LogError(f"{self.path}: {error}") from error

    def _leave(self) -> None:
        if self._follower is not None:
            self._follower[0].close()
            self._follower = None

    def _how_to_read(self) -> str:
        path = self.path.resolve()
        # What a kill left half written before the first line must be rolled back to be read.
        if path.with_name(f"{path.name}-journal").exists():
            return "?mode=rw"
        # A read-only disk has no room for the index of a journal, and needs none if there is none.
        journal = path.with_name(f"{path.name}-wal")
        if not os.access(path.parent, os.W_OK) and not journal.exists():
            return "?mode=ro&immutable=1"
        return "?mode=ro"

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._create()
            self._connection = self._prepared(self._busy_seconds)
            self._file = [_identity(each) for each in self._files()]
        return self._connection

    def _prepared(self, busy_seconds: float) -> sqlite3.Connection:
        """A connection to a file that has all tables."""
        connection = self._connect(busy_seconds=busy_seconds)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(_SQLITE)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Make the file for its owner's eyes only; SQLite gives its journal the same mode."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        mode = self.path.stat().st_mode & 0o777
        if os.name != "nt" and mode & 0o077 and not self._warned:
            self._warned = True
            _logger.warning(
                "decision log: others may read %s (mode %o); chmod 600 it", self.path, mode
            )

    def _connect(self, how: str = "", busy_seconds: float | None = None) -> sqlite3.Connection:
        # The writer has its own thread; only one thread uses the connection at a time.
        return sqlite3.connect(
            f"file:{quote(str(self.path.resolve()))}{how}",
            uri=True,
            timeout=self._busy_seconds if busy_seconds is None else busy_seconds,
            isolation_level=None,
            check_same_thread=False,
        )

    def _check_there(self) -> None:
        if not self.path.is_file():
            raise LogError(f"{self.path}: there is no such file")

    def _check_place(self) -> None:
        """Raise LogError if what was just written is in a file that is no longer at the path."""
        if _identity(self.path) == self._file[0]:
            return
        self.close()
        # Our journal, replayed into a file that is not its own, would destroy that one.
        for path, ours in zip(self._files()[1:], self._file[1:], strict=True):
            if ours is not None and _identity(path) == ours:
                path.unlink()
        raise LogError(
            f"{self.path}: was deleted or replaced while in use; lines written to it are gone"
        )

    def _files(self) -> list[Path]:
        """The file, its journal and the journal's index."""
        return [self.path.with_name(self.path.name + end) for end in ("", "-wal", "-shm")]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A transaction that has the file's write lock from its beginning."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has rolled back already
            connection.execute("ROLLBACK")
        raise


def _add(connection: sqlite3.Connection, table: Table, rows: Sequence[Row]) -> int:
    columns = ", ".join(table.columns)
    query = f"SELECT {columns} FROM {table.name} WHERE key = ?"
    found = (connection.execute(query, row[:1]).fetchone() for row in rows)
    new = fresh(table, rows, {row[0]: row for row in found if row is not None})
    if table.chained and new:
        places = rows_of(_last(connection), table.name, new)
        _insert(connection, places)
        columns += ", place"
        new = [(*row, place.number) for row, place in zip(new, places, strict=True)]
    marks = ", ".join("?" * (columns.count(",") + 1))
    connection.executemany(f"INSERT INTO {table.name} ({columns}) VALUES ({marks})", new)
    return len(new)


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


def _last(connection: sqlite3.Connection) -> Place:
    """The last place of the chain, which begins now if it has none."""
    row = connection.execute("SELECT * FROM chain ORDER BY number DESC LIMIT 1").fetchone()
    if row is not None:
        return Place(*row)
    query = "SELECT COALESCE(MAX(id), 0), COUNT(*) FROM decisions"
    first = beginning(*connection.execute(query).fetchone())
    _insert(connection, [first])
    return first


def _has(connection: sqlite3.Connection, known: Place) -> bool:
    """Whether a place is still in the chain, or was purged."""
    query = "SELECT link FROM chain WHERE number = ?"
    row = connection.execute(query, (known.number,)).fetchone()
    if row is not None:
        return bool(row[0] == known.link)
    query = "SELECT * FROM chain WHERE event IS NOT NULL AND number > ?"
    events = [Place(*event) for event in connection.execute(query, (known.number,))]
    return covers(events, known.number)


def _insert(connection: sqlite3.Connection, places: Sequence[Place]) -> None:
    rows = ((each.number, each.line, each.event, each.link) for each in places)
    connection.executemany("INSERT INTO chain VALUES (?, ?, ?, ?)", rows)


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
