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
from thisthat.errors import InvalidInputError


def open_store(place: str | Path) -> Store:
    """A path is a SQLite file; text with ``://`` is an SQLAlchemy URL. Opened on first use.

    Raises MissingExtraError for a URL without SQLAlchemy.
    """
    text = str(place)
    if "://" in text:
        return AlchemyStore(text)
    return SQLiteStore(Path(place))


def check_there(place: str | Path) -> None:
    """Raise InvalidInputError for a SQLite file that is not there: its name may be wrong."""
    if "://" not in str(place) and not Path(place).is_file():
        why = f"{place}: there is no such file; the first decision that is logged makes it"
        raise InvalidInputError("log", why)


class SQLiteStore(ChainedStore):
    """A SQLite file, opened on first use and reopened after an error.

    Several processes may write to it: each append takes the file's write lock before it reads
    where the chain ends.
    """

    def __init__(self, path: str | Path, busy_seconds: float = 1.0) -> None:
        self.path = Path(path)
        super().__init__(SQLiteFile(self.path, busy_seconds))
