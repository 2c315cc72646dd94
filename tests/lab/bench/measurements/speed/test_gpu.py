"""`bench gpu` without a GPU: turns, failures that stay alone, bars, and the plain passes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

from tests.engine import trees
from tests.path_engine import PathEngine, path_decider
from thisthat.cli import app
from thisthat.decide.decider import Decider
from thisthat.engine.rows import Row, RowResult
from thisthat.errors import InvalidInputError
from thisthat_lab.bench.measure import Context, Measurement, Setting, run_measurement
from thisthat_lab.bench.measurements.speed import gpu
from thisthat_lab.bench.measurements.speed.gpu import Found, Report, Work
from thisthat_lab.bench.report.results_page import pictures_of
from thisthat_lab.bench.report.terminal import print_result
from thisthat_lab.bench.result import Result, read_result
from thisthat_lab.bench.timing import contest, gpu_variants, growth
from thisthat_lab.bench.timing.contest import Chosen
from thisthat_lab.bench.timing.gpu_growth import Grown, measure_growth
from thisthat_lab.bench.timing.gpu_names import EAGER, FLOAT8, GRAPHS, LARGE, SMALL, UNRECORDED
from thisthat_lab.bench.timing.gpu_variants import Opened, PlainPasses

ONE = next(work for work in gpu.WORKS if work.shape == SMALL and work.states == 1)
LONG = next(work for work in gpu.WORKS if work.tokens > 4096)


class Breaking(PathEngine):
    """Fails after so many calls."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self._after = after

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        if len(self.calls) >= self._after:
            raise RuntimeError("an illegal\n  instruction")
        return super().run(rows)


def decider_with(engine: PathEngine) -> Decider:
    decider = path_decider()
    decider.engine = engine
    return decider


def ways(**engines: PathEngine) -> Opened:
    names = {"a": GRAPHS, "b": UNRECORDED, "c": EAGER}
    return Opened({names[key]: decider_with(engine) for key, engine in engines.items()})


def result_of(reports: dict[str, Report], folder: Path) -> Result:
    found = gpu.findings_of(reports, "NVIDIA H200")
    context = Context(Setting(out=folder), Console(file=io.StringIO()))
    made = Measurement("gpu", "A CUDA device", lambda _: found, has_subset=False)
    path, result = run_measurement(made, context, ["thisthat", "bench", "gpu"])
    assert read_result(path) == result
    return result


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_the_command_says_so(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(app, ["bench", "gpu", "--out", str(tmp_path)])
    assert isinstance(outcome.exception, InvalidInputError)
    assert "needs CUDA" in str(outcome.exception)


def test_a_way_that_fails_is_told_and_the_others_go_on() -> None:
    opened = ways(a=Breaking(gpu.WARM_UPS + 2), b=PathEngine(), c=Breaking(0))
    opened.absent["another"] = "it is not there"
    found = gpu.do_work(ONE, opened, 1, seconds=0.0)
    assert found[GRAPHS].failure == "RuntimeError: an illegal instruction"
    assert len(found[GRAPHS].milliseconds) == 2
    assert found[UNRECORDED].failure is None
    assert len(found[UNRECORDED].milliseconds) == gpu.BURST
    assert not found[EAGER].milliseconds
    assert found["another"].failure == "it is not there"


def test_states_are_as_long_as_the_work_says_with_its_question() -> None:
    decider = path_decider()
    for work in gpu.WORKS:
        if work.tokens > 4096 or work.states > 40:
            continue
        for call in gpu.calls_of(work, decider, 1):
            assert len(call) == work.states
            for state in call:
                job = decider.prepare(state, work.questions, layout="state-first")
                asked = job.rendered.tokens - len(decider.builder.encode_state(state))
                allowed = work.tokens if work.whole else work.tokens + asked
                assert allowed - 12 <= job.rendered.tokens <= allowed


def test_every_bar_is_there_with_its_reason_when_nothing_ran(tmp_path: Path) -> None:
    reports = {shape: Report(failure="no memory") for shape in (LARGE, SMALL)}
    for work in gpu.WORKS:
        reports[work.shape].found[work.name] = {"": Found(failure="no memory")}
    result = result_of(reports, tmp_path)
    assert [bar.limit for bar in result.bars] == [2.9, 4.5, 600, 950, 2.4, 4, 1.5, 15_000, 0, 0]
    assert {bar.note for bar in result.bars} == {"no memory"}
    assert all(bar.value is None for bar in result.bars)
    assert any("32,768" in caveat and "no memory" in caveat for caveat in result.caveats)


def test_rates_ratios_agreement_and_counters_are_reported(tmp_path: Path) -> None:
    reports = {shape: Report(counters={"captures_after_start": 0}) for shape in (LARGE, SMALL)}
    for work in gpu.WORKS:
        yes: list[list[Chosen]] = [[{"refund": "yes"}] for _ in range(3)]
        no: list[list[Chosen]] = [[{"refund": "no"}], *yes[1:]]
        reports[work.shape].found[work.name] = {
            GRAPHS: Found([2.0, 2.0, 2.0], yes, 10**9),
            EAGER: Found([50.0, 50.0, 50.0], no, 2 * 10**9),
            FLOAT8: Found([40.0, 40.0, 40.0], yes),
        }
    result = result_of(reports, tmp_path)
    verdicts = {bar.label: (bar.value, bar.reached("any")) for bar in result.bars}
    assert verdicts["1.88 B shape: 1 × 256 tokens, one question: p50"] == (2.0, True)
    rate = verdicts["1.88 B shape: 32 × 256 tokens, one question each: decisions per second"]
    assert rate == (16_000, True)
    in_float8 = "32 × 256 tokens, one question each: decisions per second, products in float8"
    assert verdicts[f"1.88 B shape: {in_float8}"] == (800, False)
    assert [bar.label for bar in result.bars if "float8" in bar.label] == [
        f"1.88 B shape: {in_float8}"
    ]
    assert verdicts["135 M default: captures after the start"] == (0, True)
    gain = "1.88 B shape: 32 × 64 tokens, a schema of 512 kept: times the decisions per second"
    assert verdicts[f"{gain} of reading it"] == (1.0, False)
    eager = next(timing for timing in result.timings if timing.system == EAGER)
    assert (eager.ratio, eager.same, eager.compared) == (25.0, 2, 3)
    told = {line.label: line.value for line in result.lines}
    assert any("gigabytes" in label and value == 2.0 for label, value in told.items())
    assert all(len(file) < 120 for _, file in pictures_of(result))
    screen = io.StringIO()
    print_result(result, Console(file=screen, width=200))
    assert "≤ 2.9 ms" in screen.getvalue()


def test_what_an_unusable_device_left_undone_is_asked_for_again() -> None:
    asked: list[list[str]] = []

    def ask(names: Sequence[str]) -> Report:
        asked.append(list(names))
        return Report(found={names[0]: {GRAPHS: Found([1.0])}}, counters={"captures_at_start": 2})

    whole = gpu.all_of(["x", "y"], ask)
    assert asked == [["x", "y"], ["y"]]
    assert set(whole.found) == {"x", "y"}
    assert whole.counters == {"captures_at_start": 4}


def test_a_process_that_ends_is_reported_for_all_its_works() -> None:
    whole = gpu.all_of(["x", "y"], lambda _: Report(failure="the process ended"))
    assert {found[""].failure for found in whole.found.values()} == {"the process ended"}


def test_a_state_too_long_for_the_model_is_a_failure_of_that_work() -> None:
    found = gpu.do_work(LONG, ways(b=PathEngine()), 1, seconds=0.0)
    assert "tokens" in str(found[UNRECORDED].failure)


def test_growth_is_measured_beside_the_works_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "PAUSE", 0.0)
    monkeypatch.setattr(growth, "STATES", (1, 2))
    grown = measure_growth(path_decider(), 1, seconds=0.0)
    assert {point.axis for point in grown.points} == set(growth.AXES)
    reports = {LARGE: Report(grown=grown), SMALL: Report()}
    result = result_of(reports, tmp_path)
    assert len(result.series["growth"]) == len(grown.points)
    assert any(line.label.startswith("1.88 B shape: tokens of the state") for line in result.lines)
    assert any("stops at 512 tokens" in caveat for caveat in result.caveats)
    assert "growth" in [name for name, _ in pictures_of(result)]


def test_growth_that_fails_is_told_and_the_works_stay(tmp_path: Path) -> None:
    grown = measure_growth(decider_with(Breaking(3)), 1, seconds=0.0)
    result = result_of({LARGE: Report(grown=grown), SMALL: Report()}, tmp_path)
    assert "Growth: failed. RuntimeError: an illegal instruction." in result.caveats
    assert result.series["growth"] == []
    assert "growth" not in [name for name, _ in pictures_of(result)]


def test_growth_found_once_is_kept_when_works_are_asked_for_again() -> None:
    point = growth.Point("state", growth.STATE_FIRST, 64, 90, 1.0, 1.0, 1.0, 3)

    def ask(names: Sequence[str]) -> Report:
        grown = Grown([point]) if names == ["x", "y"] else Grown(notes=["another device"])
        return Report(found={names[0]: {GRAPHS: Found([1.0])}}, grown=grown)

    assert gpu.all_of(["x", "y"], ask).grown == Grown([point])


@pytest.mark.parametrize("name", ["llama", "hybrid2"])
@settings(deadline=None, max_examples=10)
@given(rows=st.lists(trees.rows, max_size=4))
def test_plain_passes_agree_with_every_path_read_alone(name: str, rows: list[Row]) -> None:
    model = trees.random_model(name)
    engine = PlainPasses(model, trees.LABELS)
    for row, result in zip(rows, engine.run(rows), strict=True):
        trees.assert_same(result, trees.path_by_path(model, row))


@settings(deadline=None, max_examples=10)
@given(rows=st.lists(trees.open_rows(), max_size=4))
def test_plain_passes_read_open_states(rows: list[Row]) -> None:
    model = trees.random_model("llama")
    for row, result in zip(rows, PlainPasses(model, trees.LABELS).run(rows), strict=True):
        trees.assert_same(result, trees.path_by_path(model, row))


def test_plain_passes_cut_a_batch_by_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_variants, "PASS_TOKENS", 8)
    model = trees.random_model("llama")
    rows = [Row((), (1, 2, 3), (trees.question((4,)), trees.question((5, n)))) for n in range(3)]
    for row, result in zip(rows, PlainPasses(model, trees.LABELS).run(rows), strict=True):
        trees.assert_same(result, trees.path_by_path(model, row))


@pytest.mark.weights
def test_ways_that_do_not_open_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    small: dict[str, Any] = {**gpu_variants.LARGE_SHAPE, "hidden_size": 32, "num_hidden_layers": 4}
    small |= {"intermediate_size": 48, "head_dim": 8, "num_attention_heads": 4}
    small |= {"linear_num_key_heads": 2, "linear_num_value_heads": 2, "vocab_size": 50_000}
    small |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8}
    monkeypatch.setattr(gpu_variants, "LARGE_SHAPE", small)
    opened = gpu_variants.open_variants(LARGE, torch.device("cpu"))
    assert set(opened.absent) == {GRAPHS, UNRECORDED, FLOAT8}
    work = Work("short", LARGE, 40, ONE.questions)
    found = gpu.do_work(work, opened, 1, seconds=0.0)
    assert found[EAGER].failure is None
    assert found[EAGER].milliseconds
    assert "CheckpointError" in str(found[GRAPHS].failure)
