"""Writing files so that nothing is ever half there: write beside, sync, rename."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
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


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open a folder to sync it; the rename itself is journalled there.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
