"""Every recipe of docs/scale.md runs where its library is installed, and answers alike."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.path_engine import path_decider
from tests.scale.support import PathBatchDecider
from thisthat import Boolean, Choice

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^```python (\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
NEEDS = {
    "duckdb": ["duckdb", "pandas"],
    "dask": ["dask.dataframe"],
    "spark": ["pyspark"],
    "ray": ["ray.data"],
}
SCHEMA = {"refund": Boolean("Is it?"), "queue": Choice(["billing", "shipping"], "Which?")}
TICKETS = {"ticket": ["a", "b", "c"], "body": ["one", "two", "three"]}


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_gives_the_librarys_answers(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for package in NEEDS.get(name, [name]):
        pytest.importorskip(package)
    if name == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs a JVM")
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())
    monkeypatch.chdir(tmp_path)
    paths = [*sys.path, str(ROOT)]  # for Spark's workers
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setattr("thisthat.scale.ray.BatchDecider", PathBatchDecider)
    decider = PathBatchDecider(SCHEMA, id="ticket", state="body")
    space: dict[str, Any] = {"tickets": TICKETS, "schema": SCHEMA, "decider": decider}
    try:
        exec(compile(RECIPES[name], f"{name} in docs/scale.md", "exec"), space)
    finally:
        if name == "ray":
            space["ray"].shutdown()
    expected = decider(TICKETS)
    rows = sorted(zip(expected["ticket"], expected["queue_best"], strict=True))
    assert sorted(tuple(row) for row in space["found"]) == rows


def test_there_is_a_recipe_for_each() -> None:
    assert set(RECIPES) == {"duckdb", "polars", "pandas", "daft", "spark", "dask", "ray"}
