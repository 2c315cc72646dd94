"""`thisthat --version`, and what `thisthat pull` says of the engine."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

import thisthat
from tests.lab.train import tiny
from tests.published import DECIDER, FLOCK, write_published
from thisthat import checkpoint
from thisthat.cli import app, diagnosis
from thisthat.cli.commands.info import _flat, _shown
from thisthat.cli.diagnosis import HostFact
from thisthat.cli.plain_questions import plain_items
from thisthat.decide import opening


def test_the_version_is_shown_without_a_command() -> None:
    found = CliRunner().invoke(app, ["--version"])
    assert (found.exit_code, found.output) == (0, f"thisthat {thisthat.__version__}\n")


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("native kernels (vnni), cpu, 2 threads, int8", False),
        ("onnxruntime 1.31.1, cpu, 2 threads, int8", True),
        ("onnxruntime 1.31.1, cpu, 2 threads, float32", False),
    ],
)
def test_pull_says_why_the_fastest_engine_does_not_answer(
    engine: str, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    decider = SimpleNamespace(
        open_all=lambda: None,
        source=SimpleNamespace(name="small", version="1", lam=1.0),
        engine=SimpleNamespace(description=engine),
    )
    monkeypatch.setattr(opening, "open_decider", lambda _: decider)
    monkeypatch.setattr(checkpoint, "open_checkpoint", lambda _: None)
    monkeypatch.setattr(
        diagnosis, "why_this_engine", lambda *_: HostFact("why", "there is no C compiler (cc)")
    )
    found = CliRunner().invoke(app, ["pull"])
    assert found.output.startswith(f"small 1, λ = 1: {engine}\n")
    assert ("Why: there is no C compiler (cc).\n" in found.output) == said


def test_the_check_shows_what_is_read_and_counts_right_answers(tmp_path: Path) -> None:
    folder = tiny.write_checkpoint(tmp_path / "model")
    told = checked(folder)
    printed = CliRunner().invoke(app, ["info", str(folder), "--check"]).output
    assert printed.rstrip().endswith(f"{told['right']} of 20 right; guessing gets 8.5.")


@pytest.mark.parametrize(
    ("name", "family"), [("model", "thisthat"), (FLOCK, "flock"), (DECIDER, "decider")]
)
def test_the_check_reads_every_family(name: str, family: str, tmp_path: Path) -> None:
    files = {"decider_config": {"version": "v10"}} if family == "decider" else {}
    folder = write_published(tmp_path / name, **files)
    assert checkpoint.open_checkpoint(str(folder)).card.prompt.family == family
    checked(folder)


def checked(folder: Path) -> dict[str, Any]:
    """What `info --check --json` says of a checkpoint."""
    found = CliRunner().invoke(app, ["info", str(folder), "--check", "--json"])
    assert found.exit_code == 0, found.output
    told: dict[str, Any] = json.loads(found.stdout)
    assert told["prompt"].startswith("Context:\nThe door is open.\n\nQuestion: Is the door open?")
    assert told["right"] == sum(row["right"] for row in told["answers"])
    assert len(told["answers"]) == 20
    return told


def test_no_answer_of_the_check_is_commonest_by_chance() -> None:
    items = plain_items()
    for kind in ("boolean", "choice", "score"):
        answers = [item.answer for item in items if item.kind == kind]
        assert max(map(answers.count, answers)) <= len(answers) / 2


def test_hashes_of_labels_are_counted() -> None:
    card: dict[str, object] = {"provenance": {"labels": 3, "labels_sample": "0a 1b 2c"}}
    shown = {"provenance.labels": 3}
    shown |= {"provenance.labels_sample": "3 hashes of labels; --json has them"}
    assert _flat(card) == shown


def test_values_of_a_card_are_shown_for_people() -> None:
    gain = {"value": 0.075, "low": -0.05, "high": 0.2}
    taught = [{"question": "refund", "rows": 40, "gain": gain}, {"question": "queue"}]
    assert _shown(taught) == "question refund, rows 40, gain 0.075 [-0.05, 0.2]\nquestion queue"
    assert (_shown([]), _shown(2.6642262231834413), _shown(True)) == ("none", "2.664", "True")
