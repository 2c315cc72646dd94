"""Products alone, beside other libraries."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from thisthat.engine.native.compiler import CannotCompileError, library_here
from thisthat_lab.bench.measure import Context, Setting, registered, run_measurement
from thisthat_lab.bench.measurements.speed import kernels
from thisthat_lab.bench.report.terminal import print_result


def test_every_shape_is_timed_and_the_tables_fit_eighty_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        library_here()
    except CannotCompileError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(kernels, "SHAPES", {"down": (128, 64)})
    monkeypatch.setattr(kernels, "QUICK_SECONDS", 0.0)
    context = Context(Setting(quick=True, out=tmp_path), Console(file=StringIO()))
    measurement = registered("kernels", kernels.run)
    _, result = run_measurement(measurement, context, ["bench", "kernels"])
    rates = result.series["kernels"]["rates"]
    assert list(rates) == ["ours", *kernels.BACKENDS.values()]
    assert all(len(found["down"]) == 4 and min(found["down"]) > 0 for found in rates.values())
    told = StringIO()
    print_result(result, Console(file=told, width=80))
    assert "down: oneDNN" in told.getvalue()
    assert "95 % interval" not in told.getvalue(), "a column without a number is left out"


def test_a_bar_is_the_whole_layer_over_that_of_another() -> None:
    slow = {name: [50.0] * 4 for name in kernels.SHAPES}
    fast = {name: [100.0] * 4 for name in kernels.SHAPES}
    found = kernels.findings_of({"ours": fast, "FBGEMM": slow}, "vnni", [])
    assert [bar.value for bar in found.bars] == [2.0] * 4
    assert found.lines[0].value == pytest.approx(100)
