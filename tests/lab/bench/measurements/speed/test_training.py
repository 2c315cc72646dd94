"""`bench training` without a GPU: its steps on a small model, its lines, its bar, its page."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from typer.testing import CliRunner

from tests.lab.train import tiny
from thisthat.cli import app
from thisthat.errors import InvalidInputError
from thisthat_lab.bench.measure import Context, Findings, Measurement, Setting, run_measurement
from thisthat_lab.bench.measurements.speed import training
from thisthat_lab.bench.measurements.speed.training import VARIANTS, Variant, findings_of, measure
from thisthat_lab.bench.registry import SUITE
from thisthat_lab.bench.report.results_page import PERFORMANCE, RESULTS
from thisthat_lab.bench.result import Result, read_result
from thisthat_lab.bench.suite import measurement
from thisthat_lab.bench.timing.training_steps import RandomRows, Segment, Timed

CPU = torch.device("cpu")
CONFIG = tiny.config()
ROWS = RandomRows(CONFIG["vocab_size"], 8, 64, seed=1)
TIMED = Timed((Segment(2, 900, 1000, 0.5), Segment(2, 1100, 1200, 0.5)), 3.0, 60_000.0, 2**31)


def timed_here(
    optimiser: Any, workers: int = 0, packed: bool = True, opened: bool = False
) -> Timed | str:
    variant = Variant("here", optimiser, 256, packed, opened=opened)
    return measure(variant, CONFIG, ROWS, CPU, seconds=0.2, workers=workers)


def result_of(found: Findings, folder: Path) -> Result:
    context = Context(Setting(out=folder), Console(file=io.StringIO()))
    made = Measurement("training", "Training speed", lambda _: found, has_subset=False)
    path, result = run_measurement(made, context, ["thisthat", "bench", "training"])
    assert read_result(path) == result
    return result


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_without_a_gpu_the_command_says_so(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(app, ["bench", "training", "--out", str(tmp_path)])
    assert isinstance(outcome.exception, InvalidInputError)
    assert "bench training needs CUDA" in str(outcome.exception)


def test_it_is_a_measurement_of_its_own() -> None:
    assert "training" not in SUITE
    assert measurement("training").run is training.run


@pytest.mark.parametrize(("packed", "opened"), [(True, False), (False, False), (True, True)])
@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_small_model_is_trained_and_timed(optimiser: str, packed: bool, opened: bool) -> None:
    found = timed_here(optimiser, packed=packed, opened=opened)
    assert isinstance(found, Timed), found
    assert len(found.segments) == training.SEGMENTS
    assert found.tokens_per_second > 0
    assert found.milliseconds > 0
    assert 0 < found.padding < (1 if packed else 0.2)
    assert found.flop_utilisation is None
    assert found.peak_bytes is None


def test_batches_may_be_made_beside_the_steps() -> None:
    assert isinstance(timed_here("adamw", workers=1), Timed)


def test_rows_are_the_same_again_and_as_long_as_they_say() -> None:
    first, again = ROWS[3], ROWS[3]
    lengths = [len(row) for row in first.rows]
    assert lengths == [len(row) for row in again.rows]
    assert (first.rows[0].tokens == again.rows[0].tokens).all()
    every = [len(row) for chunk in range(8) for row in ROWS[chunk].rows]
    assert (min(every), max(every)) == (8, 64)
    assert all(row.at.tolist() == [len(row) - 1] for row in first.rows)


def test_half_of_a_row_is_open_where_states_are() -> None:
    rows = replace(ROWS, opened=True)[3].rows
    assert [len(row) for row in rows] == [len(row) for row in ROWS[3].rows]
    assert {int(row.opened[0]) for row in rows} > {0}
    for row in rows:
        start, count = row.opened.tolist()
        assert start in (0, len(row) // 4)
        assert count == len(row) // 2
    assert not any(row.is_open for row in ROWS[3].rows)


def test_variants_are_told_apart() -> None:
    names = [variant.name for variant in VARIANTS]
    assert len(set(names)) == len(names)
    assert names[-1] == "open states, Muon, 65,536 tokens a step"


def test_what_fails_is_told() -> None:
    variant = Variant("too little room", "adamw", 16)
    found = measure(variant, CONFIG, ROWS, CPU, seconds=0.1, workers=0)
    assert "less than one row of 64 tokens" in str(found)


def test_lines_and_the_bar_of_what_was_measured(tmp_path: Path) -> None:
    found: training.Found = {VARIANTS[0]: TIMED, VARIANTS[1]: "OutOfMemoryError: too much"}
    result = result_of(findings_of(found, "NVIDIA H200"), tmp_path)
    told = {line.label.removeprefix(f"{VARIANTS[0].name}: "): line.value for line in result.lines}
    assert told["tokens per second"] == 2000
    assert told["tokens per second, slowest segment"] == 1800
    assert told["a step"] == 250
    assert told["share of padding"] == pytest.approx(1 / 11)
    assert told["share of the peak FLOPs"] == pytest.approx(0.1)
    assert told["GiB at the peak"] == 2
    (bar,) = result.bars
    assert (bar.value, bar.limit, bar.reached("any"), bar.note) == (2000, 600_000, False, "")
    assert any("131,072 tokens a step: failed. OutOfMemoryError" in c for c in result.caveats)
    assert PERFORMANCE.of([result]) == [result]
    assert "## Training speed: 135 M default's shape" in PERFORMANCE.written([result])
    assert not RESULTS.of([result])


def test_the_bar_names_what_was_fastest(tmp_path: Path) -> None:
    fast = Timed((Segment(2, 9000, 9000, 0.5),), 3.0, 60_000.0, 2**31)
    float8 = next(variant for variant in VARIANTS if variant.float8)
    (bar,) = result_of(findings_of({VARIANTS[0]: TIMED, float8: fast}, "H200"), tmp_path).bars
    assert bar.value == 18_000
    assert "(float8, AdamW, 131,072 tokens a step)" in bar.label


def test_the_bar_is_for_adamw_and_an_h200(tmp_path: Path) -> None:
    result = result_of(findings_of({VARIANTS[-1]: TIMED}, "Some GPU"), tmp_path)
    (bar,) = result.bars
    assert bar.value is None
    assert bar.note == "set for an H200, this is Some GPU"
