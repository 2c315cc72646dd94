from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.cli.commands.calibrate import calibrate
from thisthat_lab.cli.train import leakage, train

RUN = """
name = "tiny"
output = "out"
device = "cpu"
[model]
initial = "model"
[data]
longest = 160
tokens_per_batch = 960
chunk_rows = 32
shapes = 4
[schedule]
steps = 2
[[sources]]
name = "colours"
file = "colours.jsonl"
"""


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    for command in (train, calibrate, leakage):
        made.command()(command)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.write_checkpoint(tmp_path / "model")
    tiny.write_colours(tmp_path / "colours.jsonl", 300)
    (tmp_path / "run.toml").write_text(RUN)
    return tmp_path


def invoke(app: typer.Typer, *arguments: str | Path) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_dry_run_then_stop_then_resume(app: typer.Typer, folder: Path) -> None:
    shown = invoke(app, "train", folder / "run.toml", "--dry-run")
    assert "shapes (rows x tokens)" in shown
    assert not (folder / "out").exists()
    stopped = invoke(app, "train", folder / "run.toml", "--stop-after", "0")
    assert "stopped after step 1; go on with --resume" in stopped
    assert "checkpoint in" in invoke(app, "train", folder / "run.toml", "--resume")
    assert open_checkpoint(folder / "out" / "checkpoint").card.provenance["steps"] == 2

    said = invoke(app, "leakage", folder / "colours.jsonl", "--model", folder / "model")
    assert "600 cases, abstaining is right in 50% of them" in said
    write = ["calibrate", folder / "out" / "checkpoint", folder / "many.jsonl"]
    tiny.write_colours(folder / "many.jsonl", 600, seed=3)
    assert "state-first boolean: temperature" in invoke(app, *write, "--dry-run")
    assert not open_checkpoint(folder / "out" / "checkpoint").card.temperatures.by_kind
    invoke(app, *write)
    kinds = open_checkpoint(folder / "out" / "checkpoint").card.temperatures.by_kind
    assert set(kinds) == {"boolean", "choice", "score"}
