"""Files that commands write, checked before any work that would be lost."""

from __future__ import annotations

import os
from pathlib import Path

from thisthat.errors import InvalidInputError


def check_output(path: Path, *read: Path | None) -> None:
    """Raise InvalidInputError for a place that cannot be written, and for files being read."""
    if path.is_dir():
        raise InvalidInputError(str(path), "is a folder; name a file in it")
    if any(other is not None and _same(path, other) for other in read):
        raise InvalidInputError(str(path), "is an input; write to another file")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise InvalidInputError(str(path), f"cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise InvalidInputError(str(path), f"cannot be written: {folder} is not writable")


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
