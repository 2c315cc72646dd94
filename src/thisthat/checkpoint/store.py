"""The folder on this machine where fetched and built files are kept, and its locks."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from thisthat.files import write_atomically

HOME_VARIABLE = "THISTHAT_HOME"
_CHUNK = 1 << 22


def home() -> Path:
    """``THISTHAT_HOME``, or ``thisthat`` in the user's cache folder of this platform."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "thisthat"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "thisthat"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "thisthat"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; waits while another process or thread holds it.

    The operating system frees the lock when its holder dies. Raises OSError when the folder is not
    writable.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _acquire(file.fileno())
        try:
            yield
        finally:
            _release(file.fileno())


if sys.platform == "win32":
    import msvcrt
    import time

    def _acquire(handle: int) -> None:
        while True:
            with suppress(OSError):
                os.lseek(handle, 0, os.SEEK_SET)
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return
            time.sleep(0.1)

    def _release(handle: int) -> None:
        os.lseek(handle, 0, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _acquire(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)

    def _release(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)


def hash_file(path: Path) -> str:
    """The file's sha256, computed now."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """The file's sha256, remembered in the store until its size or modification time changes."""
    resolved = path.resolve()
    status = resolved.stat()
    seen = [str(resolved), status.st_size, status.st_mtime_ns]
    note = home() / "hashes" / (hashlib.sha256(str(resolved).encode()).hexdigest()[:32] + ".json")
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["seen"] == seen:
            return str(known["sha256"])
    digest = hash_file(resolved)
    with suppress(OSError):  # A store that cannot be written only costs reading the file again.
        write_atomically(note, json.dumps({"seen": seen, "sha256": digest}))
    return digest
