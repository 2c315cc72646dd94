"""The folder on this machine where fetched and built files are kept, and hashes of files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from thisthat.checkpoint.trust import UntrustedFileError, read_trusted
from thisthat.environment import HOME
from thisthat.files import write_atomically

_CHUNK = 1 << 22


def home() -> Path:
    """``THISTHAT_HOME``, or ``thisthat`` in the user's cache folder of this platform."""
    chosen = os.environ.get(HOME)
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "thisthat"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "thisthat"
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "thisthat"


def hash_file(path: Path) -> str:
    """The file's sha256, computed now."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def sha256_of(path: Path) -> str:
    """The file's sha256, remembered in the store until the file changes.

    A changed file has another size, inode, or time of modification or change; the last cannot be
    set back.
    """
    resolved = path.resolve()
    status = resolved.stat()
    times = status.st_mtime_ns, status.st_ctime_ns
    seen = [str(resolved), status.st_size, status.st_ino, *times]
    note = _notes() / (hashlib.sha256(str(resolved).encode()).hexdigest()[:32] + ".json")
    with suppress(OSError, ValueError, KeyError, TypeError, UntrustedFileError):
        known = json.loads(read_trusted(note))
        if known["seen"] == seen:
            return str(known["sha256"])
    digest = hash_file(resolved)
    with suppress(OSError):  # A store that cannot be written only costs reading the file again.
        write_atomically(note, json.dumps({"seen": seen, "sha256": digest}), mode=0o644)
    return digest


def forget_hashes() -> None:
    """Have every file read and hashed anew."""
    shutil.rmtree(_notes(), ignore_errors=True)


def _notes() -> Path:
    return home() / "hashes"
