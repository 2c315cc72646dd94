"""Native kernels beside onnxruntime, with two engines whose answers are a hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.path_engine import path_decider
from thisthat_lab.bench.timing import contest
from thisthat_lab.bench.timing.beside_onnx import ONNX, BesideOnnx
from thisthat_lab.bench.timing.comparison import BOOLEAN, OURS
from thisthat_lab.bench.timing.contest import Limits, TurnJournal


def test_both_decide_the_same_states_and_the_bar_is_for_avx2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "PAUSE", 0.0)
    found = BesideOnnx()
    found.hold(
        "one boolean",
        (path_decider(), path_decider()),
        BOOLEAN,
        "state {}".format,
        Limits(seconds=0, patience=0.05, least=2, most=3),
        TurnJournal(tmp_path, {}),
    )
    ours, onnx = found.timings
    assert (ours.system, onnx.system) == (OURS, ONNX)
    assert onnx.same == onnx.compared > 0
    assert found.turns["one boolean"].keys() == {OURS, ONNX}
    (bar,) = found.bars
    assert bar.value == onnx.ratio == pytest.approx(onnx.p50 / ours.p50)
    assert bar.reached("x86_64 avx2") is (onnx.p50 >= 1.2 * ours.p50)
    assert bar.reached("x86_64 vnni") is None
