"""Policies and the decision log over HTTP: the library's outcomes, and every answer on record."""

import json
from pathlib import Path
from typing import Any

from tests.calibrate.test_policy import POLICY, SCHEMA
from tests.path_engine import path_decider
from tests.serve.support import REQUEST, get, post, service_for
from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.serve.service import Service
from thisthat.serve.settings import Settings

QUESTIONS = {
    "queue": {
        "type": "choice",
        "instructions": "Which queue?",
        "criteria": ["billing", "shipping", "other"],
    },
    "refund": {"type": "noul", "instructions": "Is it within policy?"},
    "anger": {
        "type": "score",
        "instructions": "How angry?",
        "criteria": ["calm", "annoyed", "furious"],
    },
}
ASKED: dict[str, Any] = {
    "states": ["s", "t"],
    "questions": QUESTIONS,
    "policy": POLICY.as_json(),
}


def test_decide_applies_a_policy_as_the_library_does() -> None:
    answered = post(service_for(), "/v1/decide", ASKED)
    assert answered.status_code == 200
    lines = [json.loads(line) for line in answered.text.splitlines()]
    expected = path_decider().decide_many(["s", "t"], SCHEMA, policy=POLICY)
    for line, decision in zip(lines, expected, strict=True):
        assert line["answers"] == json.loads(json.dumps(decision.as_dict()["answers"]))
        assert line["answers"]["queue"]["outcome"]["policy"] == POLICY.hash


def test_a_policy_for_something_else_is_refused() -> None:
    for change, message in (
        ({"layout": "schema-first"}, "layout is schema-first, not state-first"),
        ({"questions": {"refund": "Is it?"}}, "the schema is another one"),
        ({"policy": {"target": "x"}}, "policy"),
        ({"policy": {**POLICY.as_json(), "forced": True}}, "a file cannot force itself"),
    ):
        answered = post(service_for(), "/v1/decide", {**ASKED, **change})
        assert answered.status_code == 422
        assert message in answered.text


def test_every_answer_is_on_record(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "log.sqlite")
    service = Service(Settings(), lambda *_: path_decider(), log=log)
    service.checkpoints.load("default", None)
    one = post(service, "/v1/systemone", REQUEST)
    many = post(service, "/v1/decide", ASKED)
    page = get(service, "/metrics").text
    log.close()
    entries = list(SQLiteStore(tmp_path / "log.sqlite").read())
    assert len(entries) == len(REQUEST["questions"]) + 6
    assert {entry.request for entry in entries} == {
        one.headers["x-request-id"],
        many.headers["x-request-id"],
    }
    assert {entry.policy for entry in entries} == {None, POLICY.hash}
    assert "thisthat_decision_log_failures_total 0.0" in page
