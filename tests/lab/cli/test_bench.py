from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.bench.conftest import make_items
from thisthat.cli import app
from thisthat.errors import InvalidInputError
from thisthat.items.files import write_items
from thisthat_lab.bench.registry import REGISTRY


def test_every_measurement_is_a_command() -> None:
    outcome = CliRunner().invoke(app, ["bench", "--help"])
    assert outcome.exit_code == 0
    for name in (*REGISTRY, "all"):
        assert name in outcome.output


def test_a_file_is_scored_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.jsonl"
    write_items(path, make_items(12))
    words = ["bench", "decisions", str(path), "--system", "majority", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["thisthat", *words, "--key", "secret", "--key=secret"])
    outcome = CliRunner().invoke(app, words)
    assert outcome.exit_code == 0, outcome.output
    text = (tmp_path / "decisions-mine.json").read_text()
    assert json.loads(text)["questions"]["count"] == 12
    assert "secret" not in text
    assert "accuracy" in outcome.output


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (["cohort", "--system", "majority"], "data"),
        (["latency", "--system", "majority"], "none of our engines"),
        (["cohort", "--engine", "steam"], "--engine"),
        (["order", "--system", "chat+ftp://x"], "http"),
        (["spatial", "--system", "constant", "--seed", "3"], "--seed"),
        (["order", "--system", "majority", "--prices", "nowhere.json"], "--prices"),
    ],
)
def test_wrong_settings_are_named(
    words: list[str], field: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THISTHAT_DATA", raising=False)
    outcome = CliRunner().invoke(app, ["bench", *words, "--out", str(tmp_path)])
    assert isinstance(outcome.exception, InvalidInputError)
    assert field in str(outcome.exception)
