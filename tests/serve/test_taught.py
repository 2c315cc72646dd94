"""A server whose checkpoint was taught answers as the library does."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import thisthat
from tests.decide.test_heads import OTHER, QUEUE, QUEUE_HEAD, STATE, taught
from tests.serve.support import log_lines, on_loopback, post, service_for
from thisthat.cli import app
from thisthat.questions_json import question_as_json
from thisthat.remote.untaught_header import NAME, read_untaught, untaught_header
from thisthat.serve.service import Service

PREDICATE = {"type": "predicate", "instructions": OTHER.instructions}
ASKED: dict[str, tuple[dict[str, Any], str]] = {
    "/v1/decide": ({"states": [STATE], "questions": {"Größe, x": "Is it raining?"}}, "Größe, x"),
    "/v1/systemone": ({"state": STATE, "questions": {"other": question_as_json(OTHER)}}, "other"),
    "/v1/decisions": ({"model": "default", "input": STATE, "questions": [PREDICATE]}, "0"),
}


def served() -> Service:
    return service_for(lambda ref, lam: taught((1.0, QUEUE_HEAD)))


def test_a_server_gives_the_taught_answer_and_leaves_others_alone() -> None:
    questions = {"queue": QUEUE, "other": OTHER}
    service = service_for(lambda ref, lam: taught((1.0, QUEUE_HEAD)))
    asked = {name: question_as_json(question) for name, question in questions.items()}
    answered = post(service, "/v1/systemone", {"state": STATE, "questions": asked})
    assert answered.status_code == 200, answered.text
    given = answered.json()["answers"]
    expected = taught((1.0, QUEUE_HEAD)).decide(STATE, questions)
    assert given["queue"]["probabilities"] == dict(expected["queue"].probabilities)
    assert given["queue"]["probabilities"] != dict(taught().ask(STATE, QUEUE).probabilities)
    assert given["other"]["noul"] == expected["other"].yes == taught().ask(STATE, OTHER).yes


@pytest.mark.parametrize("path", ASKED)
def test_a_question_that_was_not_taught_is_named_in_a_header_and_the_log(path: str) -> None:
    body, name = ASKED[path]
    with log_lines() as lines:
        answered = post(served(), path, body)
    assert answered.status_code == 200, answered.text
    assert read_untaught(answered.headers[NAME]) == {name}
    [told] = [line["untaught"] for line in lines if line.get("path") == path]
    assert read_untaught(told) == {name}
    assert NAME not in post(service_for(), path, body).headers


def test_what_was_taught_is_not_named() -> None:
    body = {"states": [STATE], "questions": {"queue": question_as_json(QUEUE)}}
    assert NAME not in post(served(), "/v1/decide", body).headers


def test_clients_learn_what_was_not_taught(tmp_path: Path) -> None:
    reworded = thisthat.Choice(QUEUE.options, "Which one?")
    with on_loopback(served()) as address:
        with thisthat.connect(address) as there:
            there.decide(STATE, {"queue": QUEUE, "other": OTHER})
            assert there.untaught({"queue": QUEUE, "other": OTHER}) == ["other"]
            assert there.untaught({"queue": reworded}) == [], "nobody asked it"
            there.decide(STATE, {"queue": reworded})
            assert there.untaught({"queue": QUEUE}) == []
            assert there.untaught({"queue": reworded}) == ["queue"]
        note = "note: wet: the server's checkpoint keeps nothing taught"
        words = ["ask", "a", "--server", address, "--boolean", "wet=Is it wet?"]
        assert CliRunner().invoke(app, words).stderr.startswith(note)
        schema, states = tmp_path / "s.json", tmp_path / "a.jsonl"
        schema.write_text('{"wet": "Is it wet?"}')
        states.write_text('{"state": "a"}\n')
        words = ["batch", str(states), "--schema", str(schema), "--server", address]
        words += ["--format", "jsonl", "-o", str(tmp_path / "out")]
        assert note in CliRunner().invoke(app, words).stderr


def test_a_header_has_room_for_some_names_only() -> None:
    many = untaught_header(f"{'ä' * 300}{number}" for number in range(100))
    assert len(many) < 65_536
    assert many.isascii()
    assert read_untaught(None) == set()
