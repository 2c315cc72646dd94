"""Where log lines live: a SQLite file, or any database SQLAlchemy knows. Append, read, purge.

The SQLite file is in WAL mode and synced at every commit: what was committed survives a crash of
the program and of the machine. Triggers refuse changes, and refuse deletion except of lines older
than a purge that the database itself has recorded.
"""

from __future__ import annotations

import importlib
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any, Protocol, get_args

from thisthat.audit.entry import COLUMNS, Entry
from thisthat.errors import InvalidInputError, MissingExtraError, ThisThatError
from thisthat.questions import Action

_KEPT = ", ".join(COLUMNS)
_NUMBERS = ("time", "sure", "lam")
_SQLITE = f"""
CREATE TABLE IF NOT EXISTS decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  {", ".join(f"{name} {'REAL' if name in _NUMBERS else 'TEXT'}" for name in COLUMNS)}
);
CREATE INDEX IF NOT EXISTS decisions_by_time ON decisions (time);
CREATE INDEX IF NOT EXISTS decisions_by_request ON decisions (request);
CREATE TABLE IF NOT EXISTS purges (at REAL NOT NULL, before REAL NOT NULL);
CREATE TRIGGER IF NOT EXISTS decisions_do_not_change BEFORE UPDATE ON decisions
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only'); END;
CREATE TRIGGER IF NOT EXISTS decisions_are_kept BEFORE DELETE ON decisions
  WHEN OLD.time >= (SELECT COALESCE(MAX(before), -1) FROM purges)
  BEGIN SELECT RAISE(ABORT, 'the decision log is append-only; purge by age'); END;
"""
FILTERS = (
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


class Store(Protocol):
    """A place for log lines."""

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the lines durably, all or none. Raises LogError."""

    def read(
        self, where: Mapping[str, str], since: float | None, until: float | None, limit: int | None
    ) -> Iterator[Entry]:
        """The lines that match, newest first. Raises LogError."""

    def purge(self, before: float) -> int:
        """Delete lines older than ``before``; returns how many there were.

        Raises LogError, and InvalidInputError for a time in the future.
        """

    def close(self) -> None:
        """Close the database."""


def open_store(place: str | Path) -> Store:
    """A path is a SQLite file; text with ``://`` is an SQLAlchemy URL. Opened on first use.

    Raises MissingExtraError for a URL without SQLAlchemy.
    """
    text = str(place)
    if "://" in text:
        return AlchemyStore(text)
    return SQLiteStore(Path(place))


class SQLiteStore:
    """A SQLite file, opened on first use and reopened after an error."""

    def __init__(self, path: str | Path, busy_seconds: float = 1.0) -> None:
        self.path = Path(path)
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the lines in one transaction. Raises LogError."""
        marks = ", ".join("?" * len(COLUMNS))
        try:
            connection = self._open()
            with connection:
                connection.executemany(
                    f"INSERT INTO decisions ({_KEPT}) VALUES ({marks})", map(astuple, entries)
                )
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise LogError(f"{self.path}: {error}") from error

    def read(
        self,
        where: Mapping[str, str] | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """The lines that match, newest first; a missing file raises LogError."""
        if not self.path.is_file():
            raise LogError(f"{self.path}: there is no such file")
        condition, values = _condition(where or {}, since, until, "?")
        query = f"SELECT {_KEPT} FROM decisions{condition} ORDER BY time DESC, id DESC"
        query += "" if limit is None else f" LIMIT {int(limit)}"
        try:
            with closing(self._connect(f"file:{_quoted(self.path)}?mode=ro")) as connection:
                for row in connection.execute(query, values):
                    yield Entry(*row)
        except sqlite3.Error as error:
            raise LogError(f"{self.path}: {error}") from error

    def purge(self, before: float) -> int:
        """Delete lines older than ``before`` and record the purge."""
        _check_past(before)
        if not self.path.is_file():
            raise LogError(f"{self.path}: there is no such file")
        try:
            connection = self._open()
            with connection:
                connection.execute("INSERT INTO purges VALUES (?, ?)", (time.time(), before))
                gone = connection.execute("DELETE FROM decisions WHERE time < ?", (before,))
            return gone.rowcount
        except sqlite3.Error as error:
            self.close()
            raise LogError(f"{self.path}: {error}") from error

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = self._connect(f"file:{_quoted(self.path)}")
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(_SQLITE)
            except sqlite3.Error:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _connect(self, uri: str) -> sqlite3.Connection:
        # The writer has its own thread; only one thread uses the connection at a time.
        return sqlite3.connect(uri, uri=True, timeout=self._busy_seconds, check_same_thread=False)


class AlchemyStore:
    """Any database SQLAlchemy reaches by URL; its own permissions decide who may change lines."""

    def __init__(self, url: str) -> None:
        try:
            sqlalchemy: Any = importlib.import_module("sqlalchemy")
        except ImportError:
            raise MissingExtraError(f"the decision log {url.split(':')[0]}://", "audit") from None
        self._alchemy = sqlalchemy
        self._name = url.split("://")[0]
        try:
            self._engine = sqlalchemy.create_engine(url)
        # An unusable URL, a missing driver, or bad driver arguments.
        except (sqlalchemy.exc.SQLAlchemyError, ImportError, ValueError, TypeError) as error:
            raise InvalidInputError("log", f"{self._name}: cannot be used: {error}") from error
        columns = [
            sqlalchemy.Column(
                name,
                sqlalchemy.Float if name in _NUMBERS else sqlalchemy.Text,
                index=name == "time",
            )
            for name in COLUMNS
        ]
        number = sqlalchemy.Column("id", sqlalchemy.Integer, primary_key=True, autoincrement=True)
        self._metadata = sqlalchemy.MetaData()
        self._table = sqlalchemy.Table("decisions", self._metadata, number, *columns)
        self._ready = False

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the lines in one transaction. Raises LogError."""
        rows = [dict(zip(COLUMNS, astuple(entry), strict=True)) for entry in entries]
        with self._errors() as connection:
            connection.execute(self._table.insert(), rows)

    def read(
        self,
        where: Mapping[str, str] | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = None,
    ) -> Iterator[Entry]:
        """The lines that match, newest first."""
        columns = self._table.c
        query = self._alchemy.select(*(columns[name] for name in COLUMNS))
        for name, value in (where or {}).items():
            query = query.where(columns[_known(name, value)] == value)
        if since is not None:
            query = query.where(columns.time >= since)
        if until is not None:
            query = query.where(columns.time < until)
        query = query.order_by(columns.id.desc()).limit(limit)
        with self._errors() as connection:
            for row in connection.execute(query):
                yield Entry(*row)

    def purge(self, before: float) -> int:
        """Delete lines older than ``before``."""
        _check_past(before)
        with self._errors() as connection:
            gone = connection.execute(self._table.delete().where(self._table.c.time < before))
            return int(gone.rowcount)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def _errors(self) -> _Transaction:
        return _Transaction(self)

    def begin(self) -> Any:
        """A transaction; the first one creates the table."""
        if not self._ready:
            self._metadata.create_all(self._engine)
            self._ready = True
        return self._engine.begin()


class _Transaction:
    """A SQLAlchemy transaction whose errors, and those of its connection, are LogError."""

    def __init__(self, store: AlchemyStore) -> None:
        self._store = store
        self._context: Any = None
        self._expected = (store._alchemy.exc.SQLAlchemyError, OSError)

    def __enter__(self) -> Any:
        try:
            self._context = self._store.begin()
            return self._context.__enter__()
        except self._expected as error:
            raise self._wrapped(error) from error

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            self._context.__exit__(kind, error, trace)
        except self._expected as wrong:
            raise self._wrapped(wrong) from wrong
        if isinstance(error, self._expected):
            raise self._wrapped(error) from error

    def _wrapped(self, error: BaseException) -> LogError:
        return LogError(f"{self._store._name}: {error}")


def _check_past(before: float) -> None:
    """Refuse a future time: it would purge every line and unprotect later ones."""
    if before > time.time():
        raise InvalidInputError("before", "is in the future; only older lines can be purged")


def _condition(
    where: Mapping[str, str], since: float | None, until: float | None, mark: str
) -> tuple[str, list[Any]]:
    parts = [f"{_known(name, value)} = {mark}" for name, value in where.items()]
    values: list[Any] = list(where.values())
    for sign, moment in ((">=", since), ("<", until)):
        if moment is not None:
            parts.append(f"time {sign} {mark}")
            values.append(moment)
    return (f" WHERE {' AND '.join(parts)}" if parts else ""), values


def _known(name: str, value: str) -> str:
    if name not in FILTERS:
        raise InvalidInputError(name, f"cannot be filtered by; known are {', '.join(FILTERS)}")
    actions = get_args(Action)
    if name == "action" and value not in actions:
        raise InvalidInputError(name, f"{value!r} is not one of {', '.join(actions)}")
    return name


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.resolve()))
