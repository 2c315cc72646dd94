"""The recipe for MLflow in docs/loop.md runs where MLflow is installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.loop.test_registry import filled

PAGE = Path(__file__).parents[2] / "docs" / "loop.md"
RECIPE = re.compile(r"^```python mlflow\n(.*?)^```", re.DOTALL | re.MULTILINE)
FOUND = {"verdict": "better", "replay": {"rows": 60, "difference": 0.25, "low": 0.1, "high": 0.4}}


def test_evaluations_become_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow: Any = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    registry = filled(tmp_path / "registry")
    registry.evaluated("two", FOUND, by="ann")
    registry.evaluated("two", {"verdict": "cannot tell", "replay": None}, by="ann")
    registry.point("champion", "two", "ann", "")
    [text] = RECIPE.findall(PAGE.read_text(encoding="utf-8"))
    exec(compile(text, "docs/loop.md", "exec"), {"folder": tmp_path / "registry"})
    runs = mlflow.MlflowClient().search_runs(
        [mlflow.get_experiment_by_name("thisthat").experiment_id]
    )
    assert len(runs) == 2
    assert {run.data.tags["parent"] for run in runs} == {"one"}
    assert {run.data.tags["champion"] for run in runs} == {"True"}
    [judged] = [run for run in runs if run.data.tags["verdict"] == "better"]
    assert judged.data.metrics["difference"] == 0.25
