"""Writing files so that nothing is ever half there: write beside, sync, rename."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(
    path: Path, content: bytes | str | Callable[[BinaryIO], None], mode: int | None = None
) -> None:
    """Put ``content`` at ``path`` completely or not at all; what was there before survives errors.

    ``content`` is bytes, text (written as UTF-8) or a function that writes to an open file. A new
    file gets the rights that the umask leaves, one that was there keeps its own, unless ``mode``
    says which. Raises OSError (disk full, no permission) with the old file untouched.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    file = beside.open("xb")
    try:
        with file:
            if mode is not None:
                beside.chmod(mode)
            elif path.exists():
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

    After an error nothing is left of it, and what a kill left is removed by the next one. Raises
    FileExistsError where ``path`` already holds something, which stays as it is.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileExistsError(f"{path} already exists and is not an empty folder")
    whole = path.resolve()
    with scratch_folder(whole) as beside:
        yield beside
        _sync_folder(beside)
        if path.exists():
            path.rmdir()
        beside.rename(path)
    _sync_folder(whole.parent)


@contextmanager
def scratch_folder(path: Path) -> Iterator[Path]:
    """A hidden folder beside ``path`` that is gone when the block ends.

    What a kill left is removed by the next one for that path.
    """
    whole = path.resolve()
    beside = whole.with_name(f".{whole.name}.{secrets.token_hex(8)}")
    beside.mkdir(parents=True)
    with _taken(beside):
        for other in whole.parent.glob(_beside(whole)):
            with _taken(other) as ours:
                if ours and other != beside:
                    shutil.rmtree(other, ignore_errors=True)
        try:
            yield beside
        finally:
            shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def _taken(folder: Path) -> Iterator[bool]:
    """Hold a folder until the block or the process ends; False if another does, or on Windows."""
    if sys.platform == "win32":
        yield False
        return
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:  # its writer has just renamed or removed it
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _beside(path: Path) -> str:
    """A pattern of what writers of ``path`` leave beside it if they are killed."""
    return f".{glob.escape(path.name)}.{'[0-9a-f]' * 16}"


def remove_leftovers(path: Path) -> None:
    """Delete what killed writers of ``path`` left beside it. Nobody may be writing it now."""
    for beside in path.parent.glob(_beside(path)):
        beside.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open a folder to sync it; the rename itself is journalled there.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
