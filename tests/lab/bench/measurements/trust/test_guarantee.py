from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from thisthat.cli import app
from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat_lab.bench import measure, suite
from thisthat_lab.bench.measure import Context, Setting, run_measurement
from thisthat_lab.bench.measurements.trust import guarantee
from thisthat_lab.bench.measurements.trust.guarantee import LabelPlan, measurement_of
from thisthat_lab.bench.report.results_page import RESULTS
from thisthat_lab.bench.report.terminal import print_result
from thisthat_lab.bench.result import Result, read_result
from thisthat_lab.bench.systems.protocol import Identity
from thisthat_lab.bench.systems.replies import from_probabilities, unanswered


class Calibrated:
    """Says how sure it is, and is right that often; every tenth question is too much for it."""

    identity = Identity("calibrated", "made")
    independent = True

    def answer(self, items: Sequence[Item], done: Callable[..., None]) -> None:
        random = np.random.default_rng(1)
        for number, item in enumerate(items):
            if number % 10 == 9:
                done(number, unanswered("too long"))
                continue
            count = len(item.options)
            sure = 1 - (1 - 1 / count) * random.beta(0.4, 2.0)
            best = item.answer
            if random.random() > sure:
                best = (item.answer + 1 + random.integers(count - 1)) % count
            p = np.full(count, (1 - sure) / (count - 1))
            p[best] = sure
            done(number, from_probabilities(p.tolist()))


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.setattr(measure, "open_system", lambda *_: Calibrated())
    return Context(Setting(out=tmp_path), Console(file=io.StringIO()))


def measured(context: Context, plan: LabelPlan) -> tuple[Path, Result]:
    return run_measurement(measurement_of(plan), context, ["thisthat", "bench", "guarantee"])


def test_a_calibrated_system_keeps_its_targets(context: Context) -> None:
    path, found = measured(context, LabelPlan([150, 5000], 60, 30))
    splits = found.series["splits"]
    assert [(row["kind"], row["target"], row["labels"]) for row in splits] == [
        ("boolean", "precision>=0.9", 150),
        ("boolean", "error<=0.1", 150),
        ("boolean", "cost(fp=10,fn=1)", 150),
        ("choice", "error<=0.1", 150),
        ("choice", "cost(fp=10,fn=1)", 150),
        ("score", "error<=0.1", 150),
        ("score", "cost(fp=10,fn=1)", 150),
    ]
    answered = found.questions["count"] - found.problems["too long"]
    assert sum({row["kind"]: row["rows"] for row in splits}.values()) == answered
    assert all(row["missed"] <= 0.1 * 60 for row in splits)
    assert all(0 < row["coverage"] <= row["best"] + 0.02 for row in splits)
    worst, short = found.bars
    assert worst.value == max(row["missed"] for row in splits) / 60
    assert (worst.limit, short.limit) == (0.05, 0.03)
    assert short.value == max(
        row["best"] - row["coverage"] for row in splits if row["saved"] is None
    )
    assert any("too few to take 5000 labels" in caveat for caveat in found.caveats)
    console = Console(file=io.StringIO(), width=300)
    print_result(read_result(path), console)
    assert "Not shown" not in console.file.getvalue()  # type: ignore[attr-defined]
    assert "| boolean, precision>=0.9 | 150 of " in RESULTS.written([found])


def test_too_small_a_pool_is_refused(context: Context) -> None:
    with pytest.raises(InvalidInputError, match="no pool has twice 4000 rows"):
        measured(context, LabelPlan([4000], 5, 4))


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"labels": [0]}, "labels: is 0; it must be 1 or more"),
        ({"splits": 0}, "splits: is 0"),
        ({"per_family": -1}, "per_family: is -1"),
        ({"confidence": 1.0}, "confidence: is 1; it must lie between 0 and 1"),
    ],
)
def test_bad_plans_are_refused(plan: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        LabelPlan(**plan)  # type: ignore[arg-type]


def test_the_command_takes_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "open_system", lambda *_: Calibrated())
    plans: list[LabelPlan] = []
    real = guarantee.measurement_of
    monkeypatch.setattr(guarantee, "measurement_of", lambda plan: real(plans.append(plan) or plan))
    given = ["--per-family", "6", "--labels", "40", "--labels", "20", "--splits", "3"]
    outcome = CliRunner().invoke(app, ["bench", "guarantee", *given, "--out", str(tmp_path)])
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "guarantee.json").is_file()
    assert plans == [LabelPlan([40, 20], 3, 6, 0.95)]
    assert "guarantee" not in suite.SUITE
