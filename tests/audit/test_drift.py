from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.calibrate.test_policy import ANGER, POLICY, QUEUE, SCHEMA
from tests.path_engine import path_decider
from thisthat.audit.drift import check_drift, drift_in
from thisthat.audit.entry import Entry
from thisthat.audit.log import DecisionLog
from thisthat.audit.played import PLAYED
from thisthat.audit.store import SQLiteStore
from thisthat.calibrate.drift import DriftWarning
from thisthat.decide.policy import Policy
from thisthat.identity import question_hash, schema_hash, schema_hash_of
from thisthat.questions import Question


def asked_alone(path: Path, policy: Policy, **questions: Question) -> list[Entry]:
    decider = path_decider()
    with DecisionLog(path) as log:
        decider.log = log
        for number in range(60):
            for question in questions.values():
                decider.ask(f"state {number}", question, policy=policy)
    lines = list(SQLiteStore(path).read())
    assert {line.question for line in lines} == {"question"}
    return lines


def test_questions_of_a_policy_that_are_asked_alone_are_tested_each_by_itself(
    tmp_path: Path,
) -> None:
    lines = asked_alone(tmp_path / "a.sqlite", POLICY, queue=QUEUE, anger=ANGER)
    with pytest.warns(DriftWarning, match="queue: drift since the policy was fitted"):
        found = check_drift(lines, POLICY)
    assert {test.question for test in found} == {"queue", "anger"}
    assert {test.rows for test in found} == {60}


def test_a_policy_that_calls_another_question_question_is_not_mistaken(tmp_path: Path) -> None:
    parts = POLICY.as_json()["questions"]
    renamed = {"question": SCHEMA["refund"], "queue": QUEUE}
    policy = Policy.from_json(
        {
            **POLICY.as_json(),
            "schema_hash": schema_hash(renamed),
            "questions": {"question": parts["refund"], "queue": parts["queue"]},
        }
    )
    lines = asked_alone(tmp_path / "a.sqlite", policy, queue=QUEUE)
    assert {test.question for test in drift_in(lines, policy)} == {"queue"}


def test_what_the_playground_asked_is_left_out(tmp_path: Path) -> None:
    lines = asked_alone(tmp_path / "a.sqlite", POLICY, queue=QUEUE)
    played = [replace(line, request=f"{PLAYED}{n}") for n, line in enumerate(lines[:20])]
    assert {test.rows for test in drift_in([*played, *lines[20:]], POLICY)} == {40}


def test_a_schema_has_the_hash_of_its_questions_hashes() -> None:
    hashes = {name: question_hash(question) for name, question in SCHEMA.items()}
    assert schema_hash_of(hashes) == schema_hash(SCHEMA)
