"""Files that only we can have written: what is executed or mapped must be ours or root's.

Holds against other users of the machine, not against whoever runs as the same user. A file that
belongs to us and that no one else may write has our content, wherever it lies; it is read through
the handle that was checked, so that nobody can swap it in between.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from thisthat.errors import CheckpointError


class UntrustedFileError(CheckpointError):
    """A file in the store that another user could have planted."""


def open_trusted(path: Path) -> BinaryIO:
    """The file, opened to read. Raises UntrustedFileError if another user can have written it."""
    # A pipe in its place must not make us wait, a link must not lead elsewhere.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if path.is_symlink():
        raise _untrusted(path, "is a link")
    file = os.fdopen(os.open(path, flags | getattr(os, "O_NOFOLLOW", 0)), "rb")
    try:
        _check(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def read_trusted(path: Path) -> bytes:
    """The file's content. Raises as ``open_trusted``."""
    with open_trusted(path) as file:
        return file.read()


def check_trusted(path: Path) -> None:
    """Raise UntrustedFileError if another user can have written the file, or into the folder."""
    _check(path, path.lstat())


def _check(path: Path, found: os.stat_result) -> None:
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        raise _untrusted(path, "is neither a file nor a folder")
    if os.name == "nt":
        return
    if found.st_uid not in (0, os.geteuid()):
        raise _untrusted(path, f"belongs to user {found.st_uid}")
    others = stat.S_IWOTH | (0 if _is_private(found.st_gid) else stat.S_IWGRP)
    if found.st_mode & others:
        raise _untrusted(path, f"can be written by others (mode {stat.S_IMODE(found.st_mode):o})")


def _is_private(group: int) -> bool:
    """Whether nobody but root and this user is in the group, as where each user has one."""
    import grp
    import pwd

    try:
        user, found = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return group == 0
    return group == 0 or (found.gr_name == user and set(found.gr_mem) <= {user})


def _untrusted(path: Path, why: str) -> UntrustedFileError:
    return UntrustedFileError(
        f"{path}: {why}, so that it can have been planted, and is not used; delete it, or set "
        "THISTHAT_HOME to a folder of your own"
    )
