from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

import thisthat.decide.opening
from tests.path_engine import path_decider
from tests.serve.support import on_loopback, service_for
from thisthat.cli.commands.check import check

app = typer.Typer()
app.command()(check)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(thisthat.decide.opening, "open_decider", lambda *_, **__: path_decider())
    schema = {"lost": "Is it lost?", "queue": {"type": "choice", "criteria": ["a", "b", "c"]}}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    lines = [json.dumps(f"state {number} [/bold]") for number in range(12)]
    (tmp_path / "states.jsonl").write_text("\n".join(lines) + "\n\n")
    (tmp_path / "wordings.json").write_text('{"lost": {"negation": "Is it safe?"}}')
    return tmp_path


def run(files: Path, *words: str, schema: str = "schema.json") -> Result:
    states = ["--states", str(files / "states.jsonl")] if "--states" not in words else []
    return CliRunner().invoke(app, [str(files / schema), *states, *words])


def test_an_incoherent_schema_fails_with_a_table_and_examples(files: Path) -> None:
    outcome = run(files, "--wordings", str(files / "wordings.json"))
    assert outcome.exit_code == 1, outcome.output
    assert "FAILED" in outcome.output
    assert "negation" in outcome.output
    assert "state 0 [/bold]" in outcome.output or "[/bold]" in outcome.output
    assert "checks failed" in outcome.output
    assert "on 12 states" in outcome.output
    assert "12 states are few." in outcome.output
    said = " ".join(outcome.output.split())
    assert "What to do next: - negation (lost): say what yes and no mean" in said


def test_tolerances_that_allow_everything_pass(files: Path) -> None:
    outcome = run(files, "--share", "1", "--json", "--sample", "5", "--injections", "1")
    assert outcome.exit_code == 0, outcome.output
    report = json.loads(outcome.stdout)
    assert report["passed"] is True
    assert {each["next"] for each in report["findings"]} == {None}
    assert report["states"] == 5
    assert report["tolerance"]["share"] == 1
    again = run(files, "--share", "1", "--json", "--sample", "5", "--injections", "1")
    assert json.loads(again.stdout) == report


@pytest.mark.parametrize(
    ("others", "share"), [({}, "0"), ({"lost": "Is it lost?"}, "0"), ({"lost": "Is it lost?"}, "1")]
)
def test_a_question_with_one_option_is_warned_of(
    files: Path, others: dict[str, str], share: str
) -> None:
    alone = {"type": "choice", "criteria": ["plumber"]}
    schema = {"trade": alone, "other": {**alone, "abstain": True}, **others}
    (files / "one.json").write_text(json.dumps(schema))
    outcome = run(files, "--json", "--injections", "0", "--share", share, schema="one.json")
    assert outcome.stderr == "warning: trade: has one option, so nothing is decided\n"
    assert outcome.exit_code == (0 if json.loads(outcome.stdout)["passed"] else 1)


def test_options_that_look_alike_are_warned_of(files: Path) -> None:
    schema = {"ask": {"type": "choice", "criteria": ["book", "change", " Book", "book "]}}
    (files / "alike.json").write_text(json.dumps(schema))
    outcome = run(files, "--json", "--injections", "0", schema="alike.json")
    told = "differ only in case or blanks, so answers may be split between them"
    for other in ("' Book'", "'book '"):
        assert f"warning: ask: the options 'book' and {other} {told}" in outcome.stderr
    assert outcome.stderr.count("warning") == 2


def test_states_of_a_sample_keep_their_numbers(files: Path) -> None:
    outcome = run(files, "--json", "--sample", "5", "--injections", "0", "--share", "0")
    findings = json.loads(outcome.stdout)["findings"]
    worst = [finding["worst"] for finding in findings if finding["worst"] is not None]
    assert worst
    assert all(each["text"].startswith(f"state {each['state']} ") for each in worst)
    assert max(each["state"] for each in worst) >= 5


def test_a_server_is_checked_as_its_checkpoint_is(files: Path) -> None:
    here = run(files, "--json", "--injections", "1")
    with on_loopback(service_for()) as address:
        there = run(files, "--json", "--injections", "1", "--server", address)
    assert here.exit_code == there.exit_code == 1, there.output
    assert json.loads(there.stdout) == json.loads(here.stdout)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sample", "0"], "--sample: is 0"),
        (["--shift", "7"], "shift: is 7"),
        (["--states", "nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["--states", "/dev/null"], "/dev/null: has no states"),
        (["--wordings", "nowhere.json"], "nowhere.json: cannot be read"),
        (["--server", "http://x", "--engine", "onnx"], "--engine: is for a checkpoint"),
        (["--server", "http://127.0.0.1:9"], "127.0.0.1:9/v1/decide: no answer to 12 states"),
        (["--server", "http://x", "--timeout", "-1"], "timeout: is -1; it must be a positive"),
    ],
)
def test_bad_input_is_named(files: Path, words: list[str], message: str) -> None:
    outcome = run(files, *words)
    assert message in str(outcome.exception)


def test_a_bad_line_of_states_is_named(files: Path) -> None:
    (files / "bad.jsonl").write_text('"fine"\n{broken\n')
    outcome = run(files, "--states", str(files / "bad.jsonl"))
    assert "bad.jsonl, line 2: is not JSON" in str(outcome.exception)
