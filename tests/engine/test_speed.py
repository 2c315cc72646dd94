"""The faster engine is used, and timed only once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.train import tiny
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.trust import UntrustedFileError
from thisthat.cpus import usable_cores
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Row, RowResult
from thisthat.engine.runtime_form import forms_folder
from thisthat.engine.speed import Candidate, Speed, known_speed, open_fastest
from thisthat.errors import CheckpointError

MANY, FEW, OTHER = Candidate("native", 2), Candidate("native", 1), Candidate("onnx", 2)


class Sleeper(Engine):
    longest = 99

    def __init__(self, seconds: float) -> None:
        self.seconds, self.closed, self.runs = seconds, False, 0

    @property
    def description(self) -> str:
        return f"sleeps {self.seconds} s"

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.runs += 1
        time.sleep(self.seconds)
        return [RowResult((), 0) for _ in rows]

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "home"))
    return open_checkpoint(tiny.write_checkpoint(tmp_path / "model"))


def record() -> Path:
    (found,) = forms_folder().glob("*.speed.json")
    return found


def test_it_is_told_why_one_that_is_a_little_faster_is_not_used() -> None:
    assert str(Speed(((MANY, 87.8), (FEW, 79.6)))) == (
        "native, 2 threads: 87.8 ms; native, 1 thread: 79.6 ms; "
        "native, 2 threads, since nothing else takes 10% less time"
    )
    assert str(Speed(((FEW, 70), (MANY, 87.8)))).endswith("native, 2 threads: 87.8 ms")


def test_the_faster_one_is_opened_and_nothing_is_timed_again(checkpoint: Checkpoint) -> None:
    made: list[Sleeper] = []

    def sleeper(seconds: float) -> Sleeper:
        made.append(Sleeper(seconds))
        return made[-1]

    candidates = {MANY: lambda: sleeper(0.02), OTHER: lambda: sleeper(0.001)}
    assert known_speed(checkpoint) is None
    engine = open_fastest(checkpoint, candidates)
    assert engine.description == "sleeps 0.001 s"
    assert [one.closed for one in made] == [True, True, False]
    assert made[-1].runs == 0, "what was timed counts for nobody"
    speed = known_speed(checkpoint)
    assert speed is not None
    assert [one for one, _ in speed.timed] == [OTHER, MANY]
    assert str(speed).startswith("onnx, 2 threads: ")
    assert open_fastest(checkpoint, candidates).description == "sleeps 0.001 s"
    assert len(made) == 4
    open_fastest(checkpoint, {**candidates, FEW: lambda: sleeper(0.02)})
    assert len(made) == 8, "other candidates are timed anew"


def test_as_many_cores_as_before_are_not_timed_again(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_fastest(checkpoint, {MANY: lambda: Sleeper(0.001)})
    timed = known_speed(checkpoint)
    monkeypatch.setattr("thisthat.engine.speed.usable_cores", lambda: 9)
    assert known_speed(checkpoint) is None
    open_fastest(checkpoint, {FEW: lambda: Sleeper(0.001)})
    monkeypatch.setattr("thisthat.engine.speed.usable_cores", usable_cores)
    assert known_speed(checkpoint) == timed


def test_all_cores_are_used_unless_fewer_are_clearly_faster(checkpoint: Checkpoint) -> None:
    candidates = {MANY: lambda: Sleeper(0.02), FEW: lambda: Sleeper(0.0195)}
    assert open_fastest(checkpoint, candidates).description == "sleeps 0.02 s"


def test_one_that_does_not_open_is_left_out_but_for_the_first(checkpoint: Checkpoint) -> None:
    def fails() -> Sleeper:
        raise CheckpointError("no kernels")

    engine = open_fastest(checkpoint, {MANY: lambda: Sleeper(0.001), OTHER: fails})
    assert engine.description == "sleeps 0.001 s"
    assert str(known_speed(checkpoint)).endswith("; onnx, 2 threads: did not open")
    with pytest.raises(CheckpointError, match="no kernels"):
        open_fastest(checkpoint, {MANY: fails, FEW: lambda: Sleeper(0.001)})


@pytest.mark.parametrize(
    "said", ["", "[]", "{}", '[{"candidate": {"engine": "gpu", "threads": 1}, "milliseconds": 1}]']
)
def test_a_damaged_record_says_nothing(said: str, checkpoint: Checkpoint) -> None:
    open_fastest(checkpoint, {MANY: lambda: Sleeper(0), FEW: lambda: Sleeper(0)})
    record().write_text(said)
    assert known_speed(checkpoint) is None


def test_a_record_that_can_be_planted_is_refused(checkpoint: Checkpoint) -> None:
    open_fastest(checkpoint, {MANY: lambda: Sleeper(0), FEW: lambda: Sleeper(0)})
    record().chmod(0o666)
    with pytest.raises(UntrustedFileError, match="can have been planted"):
        known_speed(checkpoint)
