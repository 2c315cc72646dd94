from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.path_engine import path_decider
from thisthat.audit.beside import RequestId
from thisthat.audit.log import DecisionLog
from thisthat.cli import app
from thisthat.errors import InvalidInputError
from thisthat.questions import Boolean, Score

RUNNER = CliRunner()


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A log with four decisions about states that it keeps."""
    path = tmp_path / "decisions.sqlite"
    decider = path_decider()
    with DecisionLog(path, keep_states=True) as decider.log:
        for number in range(3):
            decider.ask(f"s{number}", "Is it?", request_id=f"r{number}")
        decider.ask("s3", "Is it?", request_id=RequestId("f00d", "mine"))
    return str(path)


def run(*arguments: str) -> str:
    done = RUNNER.invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(*arguments: str) -> str:
    with pytest.raises(InvalidInputError) as caught:
        RUNNER.invoke(app, arguments, catch_exceptions=False)
    return str(caught.value)


def test_outcomes_become_labels(log: str, tmp_path: Path) -> None:
    named = ("--request", "r0", "--question", "question")
    assert run("log", "outcome", log, *named, "--happened", "--source", "me") == "recorded\n"
    again = run("log", "outcome", log, *named, "--happened", "--source", "me")
    assert again == "was recorded before; no effect\n"
    table = tmp_path / "outcomes.csv"
    rows = "request,question,option\nr1,question,False\n{}x,q,no\n"
    table.write_text(rows.format("mine,question,perhaps\n"))
    told = refused("loop", "outcomes", str(table), "--log", log)
    assert told == f"{table}, line 3, option: 'perhaps' is not one of no, yes, true, false"
    table.write_text(rows.format(""))
    told = run("loop", "outcomes", str(table), "--log", log)
    assert f"{table}: 2 recorded, 0 were recorded before" in told
    assert "decisions with an outcome: 2\n" in told
    assert "outcomes without a decision: 1\n" in told
    labels = tmp_path / "labels.jsonl"
    told = run("loop", "labels", "--log", log, "-o", str(labels), "--mature", "0s")
    assert told.splitlines() == [
        f"{labels}: 2 states, 2 answers",
        "       2 excluded: no outcome came",
    ]
    labelled = [json.loads(line) for line in labels.read_text().splitlines()]
    assert labelled == [
        {"id": "r0", "state": "s0", "answers": {"question": "yes"}},
        {"id": "r1", "state": "s1", "answers": {"question": "no"}},
    ]
    told = run("loop", "labels", "--log", log, "-o", str(labels))
    assert "0 states" in told
    assert "4 excluded: the window is not over (--mature shortens it)" in told
    told = run("loop", "labels", "--log", log, "-o", str(labels), "--until", "1h")
    assert told == f"{labels}: 0 states, 0 answers\n"


def test_a_booleans_option_goes_by_true_and_false_too(log: str) -> None:
    named = ("--request", "r0", "--question", "question", "--option")
    assert run("log", "outcome", log, *named, "false") == "recorded\n"
    why = "--option: 'perhaps' is not one of no, yes, true, false"
    assert refused("log", "outcome", log, *named, "perhaps") == why


def test_labels_of_two_wordings_need_the_schema(log: str, tmp_path: Path) -> None:
    decider = path_decider()
    with DecisionLog(log, keep_states=True) as decider.log:
        decider.ask("s4", "Is it so?", request_id="r4")
    for request in ("r0", "r4"):
        run("log", "outcome", log, "--request", request, "--question", "question", "--happened")
    made = ("loop", "labels", "--log", log, "-o", str(tmp_path / "l.jsonl"), "--mature", "0s")
    told = refused(*made)
    assert told.startswith("--schema: 'question' stands in 2 schemas of this log")
    schema = tmp_path / "schema.json"
    schema.write_text('{"question": {"type": "boolean", "instructions": "Is it so?"}}')
    told = run(*made, "--schema", str(schema))
    assert "1 state, 1 answer\n" in told
    assert "1 excluded: asked in another wording" in told


def test_the_level_of_a_score_goes_by_number_or_text(tmp_path: Path) -> None:
    log, table, schema = (str(tmp_path / name) for name in ("l.sqlite", "o.csv", "s.json"))
    anger = Score(["calm", "annoyed", "furious"], "How angry?")
    decider = path_decider()
    with DecisionLog(log, keep_states=True) as decider.log:
        for number in range(3):
            decider.decide(f"s{number}", {"anger": anger}, request_id=f"r{number}")
    spec = {"type": "score", "instructions": "How angry?", "criteria": list(anger.levels)}
    Path(schema).write_text(json.dumps({"anger": spec}))
    said = ("log", "outcome", log, "--request", "r0", "--question", "anger", "--option", "furious")
    assert refused(*said) == (
        "--option: 'furious' is not one of 0, 1, 2; the log knows levels by number: name them so, "
        "or give the questions with their texts (--schema; over HTTP, the field questions)"
    )
    assert run(*said, "--schema", schema) == "recorded\n"
    rows = "decision,request,question,option\n2,,,annoyed\n,r2,anger,0\n{}"
    Path(table).write_text(rows.format(",r2,anger,wild\n"))
    told = refused("loop", "outcomes", table, "--log", log, "--schema", schema)
    levels = "0: calm, 1: annoyed, 2: furious"
    assert told == f"{table}, line 4, option: 'wild' is not one of {levels}"
    Path(table).write_text(rows.format(""))
    assert "2 recorded" in run("loop", "outcomes", table, "--log", log, "--schema", schema)
    labels = tmp_path / "labels.jsonl"
    run("loop", "labels", "--log", log, "-o", str(labels), "--mature", "0s")
    answers = [json.loads(line)["answers"] for line in labels.read_text().splitlines()]
    assert answers == [{"anger": 2}, {"anger": 1}, {"anger": 0}]


def test_an_outcome_without_its_decision_says_so(log: str) -> None:
    for request, question in (("r0", "qestion"), ("another", "question")):
        told = run(
            "log", "outcome", log, "--request", request, "--question", question, "--happened"
        )
        assert told.startswith("recorded; the log has no such decision yet"), told


def test_an_outcome_of_several_states_says_that_it_is_not_used(log: str, tmp_path: Path) -> None:
    decider = path_decider()
    with DecisionLog(log, keep_states=True) as decider.log:
        decider.decide_many(["a", "b", "c"], {"q": Boolean("Is it?")}, request_id="call-1")
    named = ("--request", "call-1", "--question", "q", "--option", "yes")
    told = run("log", "outcome", log, *named)
    assert told == (
        "recorded, but not used yet: this request asked 'q' about 3 states; "
        "say which with --state-hash or --decision\n"
    )
    labels = str(tmp_path / "labels.jsonl")
    told = run("loop", "labels", "--log", log, "-o", labels, "--mature", "0s")
    assert "4 excluded: no outcome came" in told
    assert "3 excluded: the outcome does not say which of the request's states" in told
    [line] = run("log", "query", log, "--request", "call-1", "--limit", "1").splitlines()
    one = ("--state-hash", json.loads(line)["state_hash"])
    assert run("log", "outcome", log, *named, *one) == "recorded\n"


def test_what_a_reviewer_says_becomes_an_outcome(log: str, tmp_path: Path) -> None:
    queue = tmp_path / "queue.json"
    assert "<Choices" in run("loop", "review", "--log", log, "-o", str(queue), "--limit", "2")
    tasks = json.loads(queue.read_text())
    sure = [task["predictions"][0]["score"] for task in tasks]
    assert len(sure) == 2
    assert sure == sorted(sure)
    for task in tasks:
        task["annotations"] = [{"result": task["predictions"][0]["result"]}]
    queue.write_text(json.dumps(tasks))
    assert "2 recorded" in run("loop", "outcomes", str(queue), "--log", log)
    run("loop", "review", "--log", log, "-o", str(queue))
    left = {task["data"]["decision"] for task in json.loads(queue.read_text())}
    assert left == {1, 2, 3, 4} - {task["data"]["decision"] for task in tasks}


def test_lines_have_ids_and_are_found_by_the_clients(log: str) -> None:
    [line] = run("log", "query", log, "--client", "mine").splitlines()
    found = json.loads(line)
    assert (found["id"], found["request"]) == (4, "f00d")
    assert run("log", "query", log, "--client", "r0") == ""
    done = RUNNER.invoke(app, ["log", "query", log, "--request", "mine"], catch_exceptions=False)
    assert (done.stdout, done.exit_code) == ("", 0)
    assert "--client mine finds it" in done.stderr
    nobody = RUNNER.invoke(app, ["log", "query", log, "--request", "nobody's"])
    assert (nobody.stdout, nobody.stderr, nobody.exit_code) == ("", "no line matches\n", 0)
    assert run("log", "outcome", log, "--decision", "4", "--reward", "0.5", "--at", "5s")


def test_bad_input_is_named(log: str, tmp_path: Path) -> None:
    output = str(tmp_path / "o")
    before = run("loop", "outcomes", "--log", log)
    one = ("log", "outcome", log, "--decision", "1")
    assert refused(*one, "--option", "x") == "--option: 'x' is not one of no, yes, true, false"
    told = refused(*one, "--happened", "--at", "2020-01-01")
    assert told.startswith("--at: ")
    assert "is before its decision" in told
    assert "is in the future" in refused(*one, "--happened", "--at", "2999-01-01")
    unknown = ("log", "outcome", log, "--decision", "99", "--happened")
    assert refused(*unknown) == "--decision: 99 is not in the log"
    assert run("loop", "outcomes", "--log", log) == before
    assert refused("log", "outcome", log, "--question", "q", "--happened") == (
        "--request: is missing: name the decision, or its request and its question"
    )
    assert "no such file" in refused("log", "outcome", "typo", "--decision", "1", "--happened")
    assert "no such file" in refused("loop", "outcomes", "--log", str(tmp_path / "typo"))
    assert "--mature: '7' is not" in refused(
        "loop", "labels", "--log", log, "-o", output, "--mature", "7"
    )
    assert "is an input" in refused("loop", "labels", "--log", log, "-o", log)
    keyed = tmp_path / "k.jsonl"
    rows = [{"decision": 1, "key": "k", "option": name} for name in ("yes", "no")]
    keyed.write_text("\n".join(map(json.dumps, rows)))
    told = refused("loop", "outcomes", str(keyed), "--log", log)
    assert told == f"{keyed}, line 2, key: 'k' was recorded before with other content"
    assert not (tmp_path / "typo").exists()
