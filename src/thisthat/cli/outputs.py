"""Files that commands write, checked before any work that would be lost."""

from __future__ import annotations

import os
from pathlib import Path

from thisthat.errors import InvalidInputError


def check_output(path: Path, *read: Path | None) -> None:
    """Raise InvalidInputError for a place that cannot be written, and for files being read."""
    if path.is_dir():
        raise InvalidInputError(str(path), "is a folder; name a file in it")
    inputs = [other for other in read if other is not None and other.exists()]
    if path.exists() and any(path.samefile(other) for other in inputs):
        raise InvalidInputError(str(path), "is an input; write to another file")
    check_place(path)


def check_place(path: Path) -> None:
    """Raise InvalidInputError where neither file nor folder can be made."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir():
        raise InvalidInputError(str(path), f"cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise InvalidInputError(str(path), f"cannot be written: {folder} is not writable")
