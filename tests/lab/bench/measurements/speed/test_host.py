"""The host's share of a call: what is told apart, without a device and with a made-up one."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from rich.console import Console

from tests.path_engine import PathEngine, path_decider
from thisthat.engine.protocol import Capabilities
from thisthat.engine.rows import Row, RowResult
from thisthat_lab.bench import measure, suite
from thisthat_lab.bench.measure import Context, Setting, run_measurement
from thisthat_lab.bench.measurements.speed import host
from thisthat_lab.bench.measurements.speed.host import Profiled, Watched, covered, profile
from thisthat_lab.bench.systems.opening import EngineSystem


class Slow(PathEngine):
    """Takes a hundredth of a second for every call."""

    capabilities = Capabilities(runs_ahead=True)

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        time.sleep(0.01)
        return super().run(rows)


def lines_of(engine: PathEngine, out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    decider = path_decider()
    decider.engine = engine
    monkeypatch.setattr(measure, "open_system", lambda *_: EngineSystem(decider))
    monkeypatch.setattr(host, "QUICK_STATES", 40)
    monkeypatch.setattr(host, "CALLS", 2)
    context = Context(Setting(quick=True, out=out), Console(file=io.StringIO()))
    _, found = run_measurement(suite.measurement("host"), context, ["thisthat"])
    assert "40 states" in found.caveats[0]
    return {line.label: line.value or 0.0 for line in found.lines}


def test_time_in_the_engine_is_not_the_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    lines = lines_of(slow, tmp_path, monkeypatch)
    # Waves of 32 and 8 states: two calls of the engine, whose sleep is in the whole alone.
    assert slow.calls == [32, 8] * 3
    outside = lines["prompts and answers, microseconds a decision"] * 40 / 1e3
    assert 0 < outside <= lines["milliseconds of a call"] - 20
    assert len(lines) == 3


def test_on_a_gpu_the_profiler_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = PathEngine()
    engine.capabilities = replace(engine.capabilities, on_gpu=True)
    monkeypatch.setattr(host, "profile", lambda call: Profiled(0.07, 0.05, 0.03))
    lines = lines_of(engine, tmp_path, monkeypatch)
    assert lines["profiled: the device is busy, ms"] == pytest.approx(50)
    assert lines["profiled: the host works, ms"] == pytest.approx(40)
    assert lines["profiled: the host waits, ms"] == pytest.approx(30)


def test_overlapping_spans_are_covered_once() -> None:
    assert covered([(5, 7), (0, 2), (1, 3), (6, 6.5)]) == 5
    assert covered([]) == 0


def test_a_call_is_profiled() -> None:
    on_cuda = torch.cuda.is_available()
    device = "cuda" if on_cuda else "cpu"
    one = torch.ones(64, 64, device=device)

    def call() -> float:
        (one @ one).sum().item()
        return 0.5

    found = profile(call)
    assert found.whole == 0.5
    assert (found.busy > 0) == on_cuda


def test_a_watched_engine_says_what_it_is() -> None:
    engine = PathEngine()
    watched = Watched(engine)
    assert (watched.description, watched.longest) == (engine.description, engine.longest)
    assert watched.run([]) == []
