"""Writing files so that nothing is ever half there: write beside, sync, rename."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: Path, content: bytes | str | Callable[[BinaryIO], None]) -> None:
    """Put ``content`` at ``path`` completely or not at all; what was there before survives errors.

    ``content`` is bytes, text (written as UTF-8) or a function that writes to an open file. A new
    file gets the rights that the umask leaves, one that was there keeps its own. Raises OSError
    (disk full, no permission) with the old file untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    file = beside.open("xb")
    try:
        with file:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            if callable(content):
                content(file)
            else:
                file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        # An interrupt too must leave nothing beside the file; it is raised again.
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill with ``write_atomically``; it becomes ``path`` when the block ends.

    After an error nothing is left of it. Raises FileExistsError where ``path`` already holds
    something, which stays as it is.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(f"{path} already exists and is not an empty folder")
    beside = path.resolve().with_name(f".{path.resolve().name}.{secrets.token_hex(8)}")
    beside.mkdir(parents=True)
    try:
        yield beside
        _sync_folder(beside)
        if path.exists():
            path.rmdir()
        beside.rename(path)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    _sync_folder(path.resolve().parent)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open a folder to sync it; the rename itself is journalled there.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
