import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest

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
    def full(*_: Any) -> None:
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
