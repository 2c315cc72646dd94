"""Every recipe is a run file; which files it needs is not asked here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from thisthat_lab.suites.written import read_tasks
from thisthat_lab.train.config import Run
from thisthat_lab.train.data.sources import suite_stream

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_reads_and_its_suites_take_their_settings(path: Path) -> None:
    run = Run.model_validate(tomllib.loads(path.read_text()))
    for source in run.sources:
        if source.suite is not None:
            suite_stream(source)


@pytest.mark.parametrize("recipe", ["deepening", "long-texts"])
def test_what_a_recipe_spares_exists(recipe: str) -> None:
    run = Run.model_validate(tomllib.loads((ROOT / "recipes" / f"{recipe}.toml").read_text()))
    (source,) = (source for source in run.sources if source.name == "written")
    domains = {task.domain for task in read_tasks(ROOT / "data" / "branches")}
    assert set(source.whole) <= domains
