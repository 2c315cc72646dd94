from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lab.train import tiny
from thisthat.errors import InvalidInputError
from thisthat_lab.train.config import parse_run, read_run

TEXT = """
name = "one"
output = "out"
[schedule]
tokens = 1000
[[sources]]
name = "rows"
file = "colours.jsonl"
kinds = {boolean = 2.0, score = 0.0}
[[sources]]
name = "made"
suite = "branch"
weight = 3
settings = {twins = 0.5}
"""


def test_a_run_file_is_read_from_its_own_folder(workplace: Path) -> None:
    (workplace / "run.toml").write_text(TEXT)
    run = read_run(workplace / "run.toml")
    assert run.output == workplace / "out"
    assert run.sources[0].file == workplace / "colours.jsonl"
    assert run.sources[0].kinds == {"boolean": 2.0, "score": 0.0}
    assert run.sources[1].settings == {"twins": 0.5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 3}, "run.toml: batch_size: Extra inputs"),
        ({"data": {"longest": "many"}}, "run.toml: data.longest: Input should be a valid integer"),
        ({"data": {"shapes": 25}}, "run.toml: data.shapes: .*less than or equal to 24"),
        ({"schedule": {}}, "exactly one of steps, tokens and minutes"),
        ({"schedule": {"steps": 1, "tokens": 1}}, "exactly one of steps, tokens and minutes"),
        ({"sources": []}, "run.toml: sources: .*at least 1"),
        ({"sources": [{"name": "x"}]}, "'x' needs exactly one of file, suite and tasks"),
        ({"sources": [{"name": "x", "file": "gone.jsonl"}]}, "sources.x.file: there is no file"),
        ({"sources": [{"name": "x", "suite": "chess"}]}, "run.toml: sources.0.suite"),
        (
            {"sources": [{"name": "x", "suite": "branch"}, {"name": "x", "suite": "spatial"}]},
            "the name 'x' is used more than once",
        ),
        ({"objective": {"cross_entropy": 1.2}}, "run.toml: objective.cross_entropy"),
    ],
)
def test_what_is_wrong_is_named(workplace: Path, change: dict[str, Any], message: str) -> None:
    table = {**tiny.run_table(workplace), **change}
    with pytest.raises(InvalidInputError, match=message):
        parse_run(table, workplace, "run.toml")


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("name = ")
    with pytest.raises(InvalidInputError, match="is not TOML"):
        read_run(tmp_path / "run.toml")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_run(tmp_path / "gone.toml")
