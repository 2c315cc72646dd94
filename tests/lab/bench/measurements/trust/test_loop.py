"""The loop's promises, measured quickly in simulated worlds."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from thisthat_lab.bench.measure import Context, Setting
from thisthat_lab.bench.measurements.trust import loop


def test_every_promise_is_kept_in_a_quick_run(tmp_path: Path) -> None:
    context = Context(Setting(quick=True, out=tmp_path), Console(file=io.StringIO()))
    found = loop.simulate(context)
    assert [bar.label for bar in found.bars if not bar.reached("any")] == []
    by_label = {line.label: line.value for line in found.lines}
    late = by_label["median outcomes until then"]
    fixed = by_label["outcomes of a fixed test of 95 % power"]
    assert late is not None
    assert fixed is not None
    assert late < fixed
