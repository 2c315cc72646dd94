"""What is said of who answers: questions that a taught checkpoint keeps nothing for."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.path_engine import path_decider, taught_nothing
from tests.teach.conftest import parent, taught
from thisthat import Boolean
from thisthat.cli import app
from thisthat.cli.answering import tell_uncompared, tell_untaught
from thisthat.teach.light import Taught

__all__ = ["parent", "taught"]


def test_questions_without_a_head_are_named_where_anything_was_taught(
    capsys: pytest.CaptureFixture[str],
) -> None:
    decider = path_decider()
    tell_untaught(decider, {"red": Boolean("Is it red?")})
    assert not capsys.readouterr().err
    decider = taught_nothing()
    tell_untaught(decider, {"red": Boolean("Is it red?"), "old": Boolean("Is it old?")})
    said = f"note: red, old: {decider.source.name} keeps nothing taught for this wording"
    assert capsys.readouterr().err.startswith(said)


def test_that_labels_may_have_taught_a_servers_checkpoint_is_said_where_it_was_taught(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tell_uncompared("0.6.0")
    assert not capsys.readouterr().err
    tell_uncompared("0.6.0+9b1fb4d2")
    assert "does not say which labels taught its checkpoint" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["ask", "check", "test", "batch"])
def test_every_command_that_asks_names_them(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", taught_nothing)
    schema, states, cases = (tmp_path / name for name in ("s.json", "states.jsonl", "c.json"))
    schema.write_text(json.dumps({"red": "Is it red?"}))
    states.write_text('{"id": 1, "state": "a red door"}\n')
    case = {"state": "a red door", "expect": {"red": True}}
    cases.write_text(json.dumps({"questions": "s.json", "cases": [case]}))
    words = {
        "ask": ["a red door", "--schema", str(schema)],
        "check": ["--schema", str(schema), "--states", str(states)],
        "test": [str(cases)],
        "batch": [str(states), "--schema", str(schema), "--id", "id", "-o", str(tmp_path / "out")],
    }
    done = CliRunner().invoke(app, [command, *words[command]])
    assert "note: red: " in done.stderr, done.output
    assert "keeps nothing taught for this wording" in done.stderr


def test_check_says_that_a_taught_question_is_compared_with_untaught_wordings(
    parent: Path, taught: Taught, tmp_path: Path
) -> None:
    schema, states = tmp_path / "s.json", tmp_path / "states.jsonl"
    schema.write_text(json.dumps({"red": "Is it red?"}))
    states.write_text('"a red door"\n"a red car"\n')
    words = ["check", "--schema", str(schema), "--states", str(states), "--engine", "onnx"]
    note = "note: red: taught in this wording alone; negations, thresholds and paraphrases"
    told = CliRunner().invoke(app, [*words, "--checkpoint", str(taught.folder)])
    assert note in told.stderr, told.output
    assert "- negation (red): was answered without what was taught; keep the wording" in told.stdout
    assert "teach the question with labels" not in told.stdout
    assert "note:" not in CliRunner().invoke(app, [*words, "--checkpoint", str(parent)]).stderr
