"""A SQLite file as the decision log's database: made, opened, locked, and missed when it goes.

It is in WAL mode and synced at every commit: what was committed survives a crash of the program
and of the machine. Only its owner may read it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from thisthat.audit.chained_store import Result, Transaction
from thisthat.audit.protocol import LogError, NoLogYetError
from thisthat.audit.sqlite_schema import SCHEMA
from thisthat.audit.sqlite_statements import SQLiteStatements

_ABOUT_A_LINE = (sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError)

_RUN_SECONDS = 10.0
"""How long a row beside the decisions waits for its turn; somebody waits for it, too."""

_logger = logging.getLogger("thisthat.audit")


class SQLiteFile:
    """A ``Database`` in a file, opened on first use and reopened after an error."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.path = path
        self._busy_seconds = busy_seconds
        self._connection: sqlite3.Connection | None = None
        self._file: list[tuple[int, int] | None] = []
        self._warned = False
        self._follows = threading.Lock()
        self._follower: tuple[sqlite3.Connection, tuple[int, int] | None] | None = None

    @contextmanager
    def writing(self, *, create: bool = True) -> Iterator[SQLiteStatements]:
        """A transaction; raises LogError also if the file disappeared under it."""
        if not create:
            self._check_there()
        try:
            with self._errors():
                with _transaction(self._open()) as connection:
                    yield SQLiteStatements(connection)
                self._check_place()
        except LogError:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[SQLiteStatements]:
        """A connection of its own that cannot write."""
        self._check_there()
        try:
            with closing(self._connect(self._how_to_read())) as connection:
                connection.execute("PRAGMA query_only = ON")
                yield SQLiteStatements(connection)
        except sqlite3.Error as error:
            raise self._told(error) from error

    @contextmanager
    def following(self) -> Iterator[SQLiteStatements]:
        """A connection that is kept: opening one costs more than reading a few rows does."""
        self._check_there()
        with self._follows:
            file = _identity(self.path)
            if self._follower is None or self._follower[1] != file:
                self._leave()
                with self._errors():
                    self._follower = self._connect(self._how_to_read()), file
            try:
                yield SQLiteStatements(self._follower[0])
            except sqlite3.Error as error:
                self._leave()
                raise self._told(error) from error

    def run(self, work: Callable[[Transaction], Result]) -> Result:
        """Do some work over a connection of its own; the file's lock lets one writer in."""
        with self._errors():
            self._create()
            with closing(self._prepared(_RUN_SECONDS)) as connection, _transaction(connection):
                return work(SQLiteStatements(connection))

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        with self._follows:
            self._leave()

    def _leave(self) -> None:
        if self._follower is not None:
            self._follower[0].close()
            self._follower = None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Errors of the database and the disk as LogError, unless they are about a line."""
        try:
            yield
        except _ABOUT_A_LINE:
            raise
        except (sqlite3.Error, OSError) as error:
            raise LogError(f"{self.path}: {error}") from error

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
            connection.executescript(SCHEMA)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        """Make the file for its owner's eyes only; SQLite gives its journal the same mode."""
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
            raise NoLogYetError(f"{self.path}: there is no such file")

    def _told(self, error: sqlite3.Error) -> LogError:
        """An error of reading; a file without tables is left by a kill before the first line."""
        early = str(error) == "no such table: decisions"
        return (NoLogYetError if early else LogError)(f"{self.path}: {error}")

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
