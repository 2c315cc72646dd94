import io
import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.path_engine import path_decider, taught_nothing
from tests.serve.support import on_loopback, service_for
from thisthat import Boolean, Choice, InvalidInputError, Score
from thisthat.cli import app, main

REFUND = "refund=Is it within policy?|yes: at most 30 days|no: later"
QUEUE = "queue=Which team?|billing: charges and refunds|shipping"


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", lambda *_, **__: path_decider())


def ask(*arguments: str, standard_input: str | None = None) -> str:
    done = CliRunner().invoke(app, ["ask", *arguments], input=standard_input)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_json_output_is_what_the_library_gives() -> None:
    record = json.loads(
        ask("a state", "-b", REFUND, "-c", QUEUE, "-s", "How bad?|low|high", "--json")
    )
    expected = path_decider().decide(
        "a state",
        {
            "refund": Boolean("Is it within policy?", true="at most 30 days", false="later"),
            "queue": Choice({"billing": "charges and refunds", "shipping": None}, "Which team?"),
            "score1": Score(["low", "high"], "How bad?"),
        },
    )
    assert record["answers"] == expected.as_dict()["answers"]
    assert record["usage"]["output_tokens"] == 0


def test_a_server_answers_as_its_checkpoint_does(tmp_path: Path) -> None:
    states = tmp_path / "states.jsonl"
    states.write_text('"one"\n"two"\n', encoding="utf-8")
    here = ask("a state", "-c", QUEUE, "--json")
    with on_loopback(service_for()) as address:
        there = ask("a state", "-c", QUEUE, "--json", "--server", address)
        lines = ask("--states", str(states), "-c", QUEUE, "--server", address).splitlines()
        assert "billing" in ask("a state", "-c", QUEUE, "--server", address)
    assert json.loads(there)["answers"] == json.loads(here)["answers"]
    assert len(lines) == 2


def test_help_shows_how_a_question_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    page = ask("--help")
    assert '"[name=]Is it so?[|yes: meaning|no: meaning]"' in page
    assert page.count('"[name=]') == 3
    assert "\\[" not in page


def test_the_table_shows_every_option() -> None:
    table = ask("a state", "-c", QUEUE)
    for word in ("queue", "billing", "shipping", "0 out", "λ = 0.5"):
        assert word in table


def test_the_state_comes_from_an_argument_a_file_or_standard_input(tmp_path: Path) -> None:
    path = tmp_path / "state.txt"
    path.write_text("a state", encoding="utf-8")
    given = ask("a state", "-b", "Is it?", "--json")
    answers = json.loads(given)["answers"]
    assert json.loads(ask("--file", str(path), "-b", "Is it?", "--json"))["answers"] == answers
    piped = ask("-b", "Is it?", "--json", standard_input="a state")
    assert json.loads(piped)["answers"] == answers
    dash = ask("-", "-b", "Is it?", "--json", standard_input="a state")
    assert json.loads(dash)["answers"] == answers


def test_json_states_and_schema_files_are_read(tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"ok": "Is it?", "level": {"type": "score", "criteria": ["a", "b"]}}')
    record = json.loads(ask('{"a": 1}', "--json-state", "--schema", str(schema), "--json"))
    assert list(record["answers"]) == ["ok", "level"]


def test_every_line_of_a_file_is_asked_about(tmp_path: Path) -> None:
    states = tmp_path / "states.jsonl"
    states.write_text('"one"\n{"two": 2}\n\n"three"\n')
    lines = ask("--states", str(states), "-b", "Is it?").splitlines()
    records = [json.loads(line) for line in lines if line.startswith("{")]
    expected = path_decider().decide_many(["one", {"two": 2}, "three"], {"boolean1": "Is it?"})
    assert [r["answers"] for r in records] == [d.as_dict()["answers"] for d in expected]


def test_the_prompt_is_shown_with_its_slots() -> None:
    assert "Answer: (⟦slot 0: 2 options⟧" in ask("a state", "-b", "Is it?", "--show-prompt")


def test_a_cut_is_reported() -> None:
    assert "kept 1000 of 1001" in ask("x" * 1001, "-b", "Is it?", "--keep", "head")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["s"], "questions: none given; use --boolean, --choice, --score or --schema"),
        (["s", "-b", "a=Is it?", "-b", "a=Or not?"], "--boolean: the name 'a' is used twice"),
        (["s", "-b", ""], "--boolean: '': instructions: is empty"),
        (["s", "-b", "Is it?|maybe: x"], "only yes and no can be described"),
        (["s", "-c", "q=Which?"], "options: 0 given; add them, as in 'Which?|first|second'"),
        (["s", "-s", "How?"], "levels: 0 given; add them, as in 'How?|lowest|highest'"),
        (["s", "-s", "How?|x|x"], "--score: 'How?|x|x': levels[1]: is the same as level 0"),
        (["--states", os.devnull, "-b", "?"], f"{os.devnull}: has no states"),
        (["{", "--json-state", "-b", "?"], "state: is not JSON"),
        (['{"a": NaN}', "--json-state", "-b", "?"], "state: has NaN, which JSON cannot hold"),
        (["s", "--file", "x", "-b", "?"], "--file: a state was given as an argument too"),
        (["--file", "nowhere", "-b", "?"], "nowhere: cannot be read"),
        (["s", "--states", "x", "-b", "?"], "--states: replaces a state"),
        (["s", "-b", "?", "--layout", "x"], "layout: 'x' is not one"),
        (["s", "-b", "?", "--order", "x"], "order: 'x' is neither as-given nor average"),
        (["--states", "x", "-b", "?", "--explain"], "--explain: works on one state"),
        (["--states", "x", "-b", "?", "--show-prompt"], "--show-prompt: works on one state"),
        (["s", "-b", "?", "--server", "http://x", "--show-prompt"], "--show-prompt: is for a"),
        (["s", "-b", "?", "--server", "http://x", "--decision-log", "l"], "--decision-log: is for"),
        (["s", "-b", "?", "--server", "http://x", "--form", "int8"], "--form: is for a checkpoint"),
    ],
)
def test_mistakes_are_named(arguments: list[str], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        ask(*arguments)
    assert message in str(caught.value)


def test_an_error_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["thisthat", "ask", "s"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err.startswith("error: questions: none given")


def test_order_and_evidence_are_what_the_library_gives() -> None:
    words = ["One. Two [x].", "-c", "queue=Which?|b|a|c", "--order", "average", "--explain"]
    record = json.loads(ask(*words, "--json"))
    expected = path_decider().decide(
        "One. Two [x].", {"queue": Choice(["b", "a", "c"], "Which?")}, order="average", explain=True
    )
    assert record["answers"] == expected.as_dict()["answers"]
    assert record["evidence"] == expected.as_dict()["evidence"]
    assert record["usage"]["extra_tokens"] > 0
    output = ask(*words)
    assert "Two [x]." in output
    assert "tokens more" in output


def test_many_options_in_rounds_are_what_the_library_gives() -> None:
    names = [f"shelf {number}" for number in range(40)]
    words = ["A state", "-c", "|".join(["shelf=Which?", *names]), "--wide", "in-rounds", "--json"]
    record = json.loads(ask(*words))
    question = Choice(names, "Which?")
    expected = path_decider().decide("A state", {"shelf": question}, wide="in-rounds")
    assert record["answers"] == expected.as_dict()["answers"]
    assert record["usage"]["input_tokens"] == expected.usage.input_tokens


def test_a_question_that_a_taught_checkpoint_was_not_taught_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("thisthat.decide.opening.open_decider", taught_nothing)
    done = CliRunner().invoke(app, ["ask", "a state", "-b", REFUND, "--json"])
    assert done.exit_code == 0
    assert done.stderr.startswith("note: refund: ")
    assert "keeps nothing taught for this wording with these options" in done.stderr
    json.loads(done.stdout)
