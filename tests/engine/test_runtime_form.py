import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.checkpoint.test_trust import foreign
from thisthat.checkpoint.locks import locked
from thisthat.checkpoint.trust import UntrustedFileError
from thisthat.engine import runtime_form
from thisthat.engine.runtime_form import GRAPH_FILE, WEIGHTS_FILE, open_form
from thisthat.errors import CheckpointError


class Builder:
    """Writes a few bytes and counts how often it was asked to."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self, data: BinaryIO, name: str) -> bytes:
        self.built += 1
        data.write(b"weights")
        return f"graph over {name}".encode()


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "home"))


def test_a_form_is_built_once_and_named_by_its_key(tmp_path: Path) -> None:
    build = Builder()
    graph = open_form({"form": "int8"}, build, tmp_path)
    assert open_form({"form": "int8"}, build, tmp_path) == graph
    assert build.built == 1
    assert graph.read_bytes() == b"graph over weights.bin"
    assert graph.with_name(WEIGHTS_FILE).read_bytes() == b"weights"
    assert open_form({"form": "float32"}, build, tmp_path) != graph
    assert build.built == 2


def test_forms_are_kept_in_the_store(tmp_path: Path) -> None:
    graph = open_form({}, Builder())
    assert graph.is_relative_to(tmp_path / "home" / "forms")


@pytest.mark.parametrize("name", [GRAPH_FILE, WEIGHTS_FILE, "form.json"])
@pytest.mark.parametrize("damage", ["changed", "cut", "missing"])
def test_a_damaged_form_is_built_again(name: str, damage: str, tmp_path: Path) -> None:
    build = Builder()
    graph = open_form({}, build, tmp_path)
    whole = {path.name: path.read_bytes() for path in graph.parent.iterdir()}
    damaged = graph.with_name(name)
    if damage == "missing":
        damaged.unlink()
    else:
        kept = whole[name][:-3]
        damaged.write_bytes(kept + (b"xyz" if damage == "changed" else b""))
        os.utime(damaged, ns=(1, 1))  # Never the same time of change as before, however quick.
    open_form({}, build, tmp_path)
    assert build.built == 2
    assert {path.name: path.read_bytes() for path in graph.parent.iterdir()} == whole


def test_a_build_that_fails_leaves_nothing_to_trust(tmp_path: Path) -> None:
    def fails(data: BinaryIO, name: str) -> bytes:
        data.write(b"half")
        raise CheckpointError("the tensor x is missing")

    with pytest.raises(CheckpointError, match="tensor x"):
        open_form({}, fails, tmp_path)
    build = Builder()
    assert open_form({}, build, tmp_path).is_file()
    assert build.built == 1


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runtime_form, "write_atomically", full)
    with pytest.raises(CheckpointError, match=r"cannot be written.*No space left.*THISTHAT_HOME"):
        open_form({}, Builder(), tmp_path)


def test_the_least_recently_opened_form_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_form, "MOST_FORMS", 2)
    build = Builder()
    first, second = (open_form({"number": number}, build, tmp_path) for number in (1, 2))
    os.utime(first.with_name("form.json"), ns=(1, 1))
    third = open_form({"number": 3}, build, tmp_path)
    assert [graph.is_file() for graph in (first, second, third)] == [False, True, True]


def test_flipped_bytes_are_found_though_size_and_time_are_kept(tmp_path: Path) -> None:
    build = Builder()
    weights = open_form({}, build, tmp_path).with_name(WEIGHTS_FILE)
    open_form({}, build, tmp_path)
    before = weights.stat()
    with weights.open("r+b") as file:
        file.write(b"W")
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    open_form({}, build, tmp_path)
    assert build.built == 2
    assert weights.read_bytes() == b"weights"


@pytest.mark.parametrize("name", [GRAPH_FILE, WEIGHTS_FILE, "form.json", "."])
@pytest.mark.parametrize("how", ["writable", "foreign"])
def test_a_form_that_can_be_planted_is_refused(
    name: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Builder()
    place = open_form({}, build, tmp_path).parent
    planted = place / name
    if how == "writable":
        planted.chmod(0o777)
    else:
        foreign(planted, monkeypatch)
    with pytest.raises(UntrustedFileError, match="can have been planted"):
        open_form({}, build, tmp_path)
    assert build.built == 1


def test_a_form_is_nobody_elses_to_write_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        place = open_form({}, Builder(), tmp_path / "forms").parent
    finally:
        os.umask(before)
    assert {each.stat().st_mode & 0o777 for each in place.iterdir()} == {0o644}
    assert place.stat().st_mode & 0o777 == 0o755


BUILD = """
import sys
from pathlib import Path
from thisthat.engine.runtime_form import open_form

def build(data, name):
    data.write(b"half of it")
    data.flush()
    print("building", flush=True)
    sys.stdin.readline()

open_form({"number": int(sys.argv[2])}, build, Path(sys.argv[1]))
"""


def test_what_a_killed_build_left_is_removed_by_the_next_of_any_form(tmp_path: Path) -> None:
    forms = tmp_path / "forms"
    for number in (1, 2):
        killed = subprocess.Popen(
            [sys.executable, "-c", BUILD, str(forms), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"building\n"
        killed.send_signal(signal.SIGKILL)
        killed.communicate(timeout=20)
    assert len(list(forms.glob("*/.weights.bin.*"))) == 2
    graph = open_form({"number": 1}, Builder(), forms)
    assert [path.name for path in forms.iterdir() if path.is_dir()] == [graph.parent.name]
    assert not list(forms.glob("*/.*"))


def test_a_build_that_another_process_is_at_is_left_alone(tmp_path: Path) -> None:
    busy = tmp_path / "busy"
    busy.mkdir()
    (busy / f".weights.bin.{0:016x}").touch()
    with locked(tmp_path / "busy.lock"):
        open_form({}, Builder(), tmp_path)
        assert busy.exists()
    open_form({"another": 1}, Builder(), tmp_path)
    assert not busy.exists()


def test_a_lock_that_hangs_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = open_form({}, Builder(), tmp_path)
    graph.unlink()
    monkeypatch.setattr(runtime_form, "locked", lambda path: locked(path, patience=0))
    with (
        locked(tmp_path / f"{graph.parent.name}.lock"),
        pytest.raises(CheckpointError, match=f"is locked by process {os.getpid()} since"),
    ):
        open_form({}, Builder(), tmp_path)
