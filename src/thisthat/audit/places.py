"""Whether a log can be where somebody says. Only of files: a database at a URL tells by itself."""

from __future__ import annotations

import os
from pathlib import Path

from thisthat.errors import InvalidInputError

_BEGINS = b"SQLite format 3\0"


def check_there(place: str | Path) -> None:
    """Raise InvalidInputError for a SQLite file that is not there: its name may be wrong."""
    if _is_file(place) and not Path(place).is_file():
        why = f"{place}: there is no such file; the first decision that is logged makes it"
        raise InvalidInputError("log", why)


def check_folder(place: str | Path) -> None:
    """Raise InvalidInputError for a SQLite file in a folder that is not there.

    None is made for it: behind a typing error, or below a volume that is not mounted, the log would
    not be found again.
    """
    folder = Path(place).absolute().parent
    if _is_file(place) and not folder.is_dir():
        raise InvalidInputError("log", f"{place}: there is no folder {folder}; make it first")


def check_can_log(place: str | Path) -> None:
    """Raise InvalidInputError where no log can be begun or continued, whatever is tried later."""
    check_folder(place)
    if not _is_file(place):
        return
    path = Path(place)
    if path.is_dir():
        raise InvalidInputError("log", f"{place}: is a folder; name a file in it")
    written = [path.absolute().parent, *([path] if path.exists() else [])]
    for each in written:
        if not os.access(each, os.W_OK):
            raise InvalidInputError("log", f"{place}: cannot be written: {each} is not writable")
    if path.exists() and not _may_be_sqlite(path):
        why = f"{place}: is no SQLite database, so no log; name another file, or move this one away"
        raise InvalidInputError("log", why)


def _may_be_sqlite(path: Path) -> bool:
    """An empty file becomes a database with its first line."""
    with path.open("rb") as file:
        return file.read(len(_BEGINS)) in (b"", _BEGINS)


def _is_file(place: str | Path) -> bool:
    return "://" not in str(place)
