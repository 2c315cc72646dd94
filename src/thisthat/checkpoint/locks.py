"""Lock files: one process or thread at a time, no endless waiting, and word of who holds them."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path

PATIENCE = 600.0
_QUIET_SECONDS = 3.0
_LONGEST_PAUSE = 0.1
_PROC_LOCKS = Path("/proc/locks")

_logger = logging.getLogger("thisthat.store")


@contextmanager
def locked(path: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock file ``path``; waits while another process or thread holds it.

    After some seconds a warning says who does; after ``patience`` seconds it raises TimeoutError.
    The operating system frees the lock when its holder dies. Raises OSError when the folder is not
    writable.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _acquired(path, patience)
    try:
        yield
    finally:
        _note(handle, b"")
        _release(handle)
        os.close(handle)


def _acquired(path: Path, patience: float) -> int:
    started, pause, quiet = time.monotonic(), 0.001, True
    while True:
        # Others who may open the file could hold the lock.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            if os.name != "nt" and os.fstat(handle).st_uid == os.geteuid():
                os.fchmod(handle, 0o600)
            while not _try(handle):
                waited = time.monotonic() - started
                if waited >= patience:
                    raise TimeoutError(
                        f"{path}: is locked by {_holder(handle)}; gave up after {waited:.0f} s"
                    )
                if quiet and waited > _QUIET_SECONDS:
                    _logger.warning("waiting for %s, locked by %s", path, _holder(handle))
                    quiet = False
                time.sleep(min(pause, max(patience - waited, 0)))
                pause = min(2 * pause, _LONGEST_PAUSE)
            if _is_at(path, handle):
                about = {"pid": os.getpid(), "since": datetime.now(timezone.utc).isoformat()}
                _note(handle, json.dumps(about).encode())
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # Somebody deleted the file while we waited for it.


def _is_at(path: Path, handle: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


def _note(handle: int, text: bytes) -> None:
    with suppress(OSError):  # A full disk: the lock holds, only its holder is not named.
        os.ftruncate(handle, 0)
        os.lseek(handle, 0, os.SEEK_SET)
        os.write(handle, text)


def _holder(handle: int) -> str:
    """Who holds the lock, as the system and the holder itself tell."""
    pid, since = None, None
    with suppress(OSError, ValueError, KeyError, TypeError):
        os.lseek(handle, 0, os.SEEK_SET)
        said = json.loads(os.read(handle, 200))
        pid, since = int(said["pid"]), datetime.fromisoformat(said["since"]).isoformat()
    known = _pid_by_system(os.fstat(handle).st_ino)
    if known is not None and known != pid:
        pid, since = known, None
    if pid is None:
        return "a process that left no word"
    return f"process {pid}" + ("" if since is None else f" since {since}")


def _pid_by_system(inode: int) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in _PROC_LOCKS.read_text(encoding="ascii").splitlines():
            words = line.split()
            if words[1] == "FLOCK" and words[5].split(":")[-1] == str(inode):
                return int(words[4]) or None
    return None


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30
    """A locked byte cannot be read; this one is beyond the holder's note."""

    def _try(handle: int) -> bool:
        with suppress(OSError):
            os.lseek(handle, _FAR, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            return True
        return False

    def _release(handle: int) -> None:
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try(handle: int) -> bool:
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def _release(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)
