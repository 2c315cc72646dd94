"""Where log lines live: a SQLite file, or any database SQLAlchemy knows. Append, read, purge.

Triggers of the SQLite file refuse changes by accident; changes on purpose do not fit the chain
(``chain.py``).
"""

from __future__ import annotations

from pathlib import Path

from thisthat.audit.alchemy_store import AlchemyStore
from thisthat.audit.chained_store import ChainedStore
from thisthat.audit.protocol import Store
from thisthat.audit.sqlite_file import SQLiteFile


def open_store(place: str | Path) -> Store:
    """A path is a SQLite file; text with ``://`` is an SQLAlchemy URL. Opened on first use.

    Raises MissingExtraError for a URL without SQLAlchemy.
    """
    text = str(place)
    if "://" in text:
        return AlchemyStore(text)
    return SQLiteStore(Path(place))


class SQLiteStore(ChainedStore):
    """A SQLite file, opened on first use and reopened after an error.

    Several processes may write to it: each append takes the file's write lock before it reads
    where the chain ends.
    """

    def __init__(self, path: str | Path, busy_seconds: float = 1.0) -> None:
        self.path = Path(path)
        super().__init__(SQLiteFile(self.path, busy_seconds))
