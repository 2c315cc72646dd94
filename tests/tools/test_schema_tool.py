from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.path_engine import path_decider
from tests.serve.support import on_loopback, service_for
from thisthat import connect
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.decide.target import parse_target
from thisthat.errors import InvalidInputError
from thisthat.items.labels import LabelledStates
from thisthat.questions import Boolean, Choice, Question, Score
from thisthat.tools.schema_tool import SchemaTool, read_tools

QUESTIONS: dict[str, Question] = {
    "lost": Boolean("Is a parcel lost?", true="it is gone", abstain=True),
    "queue": Choice({"billing": None, "shipping": {"what": ["parcels"]}}, "Which team?"),
    "unsure": Choice(["a", "b"], abstain="neither"),
    "anger": Score(["calm", "furious"]),
}
TARGET = parse_target("error<=0.3")
STATES: list[Any] = ["The parcel never came.", {"days": 12}, ["a", 1.5], ""]


def test_what_it_gives_is_what_it_says() -> None:
    tool = SchemaTool("triage", QUESTIONS)
    Draft202012Validator.check_schema(tool.output_schema)
    Draft202012Validator.check_schema(tool.input_schema)
    decider = path_decider()
    for state in STATES:
        found = asyncio.run(tool.call(decider, {"state": state}))
        Draft202012Validator(tool.output_schema).validate(json.loads(json.dumps(found)))
        Draft202012Validator(tool.input_schema).validate({"state": state})
        expected = decider.decide(state, QUESTIONS)
        for name, answer in expected.answers.items():
            assert found["answers"][name]["probabilities"] == answer.probabilities
        assert found["checkpoint"] == "paths"


def test_a_policy_adds_what_to_do() -> None:
    decider = path_decider()
    states = [f"state {number}" for number in range(60)]
    right = [
        {name: list(a.probabilities).index(a.best_name) for name, a in each.answers.items()}
        for each in decider.decide_many(states, QUESTIONS)
    ]
    labelled = LabelledStates(QUESTIONS, states, right)
    tool = SchemaTool("t", QUESTIONS, fit_policy(decider, labelled, TARGET))
    tool.check(decider)
    found = asyncio.run(tool.call(decider, {"state": "s"}))
    Draft202012Validator(tool.output_schema).validate(json.loads(json.dumps(found)))
    assert {each["outcome"]["action"] for each in found["answers"].values()} <= {
        "act",
        "abstain",
        "escalate",
    }


def test_a_policy_for_something_else_is_told_before_a_call() -> None:
    decider, labelled = path_decider(), LabelledStates({"q": Boolean("Is it?")}, ["s"] * 60, [])
    [right] = decider.decide_many(["s"], labelled.questions)
    answer = list(right["q"].probabilities).index(right["q"].best_name)
    labelled = replace(labelled, labels=[{"q": answer}] * 60)
    tool = SchemaTool("t", labelled.questions, fit_policy(decider, labelled, TARGET))
    with pytest.raises(InvalidInputError, match=r"policy: was fitted for .* the schema differs"):
        replace(tool, questions=QUESTIONS).check(decider)
    with pytest.raises(InvalidInputError, match=r"policy: was fitted for .*: order is average"):
        tool.check(decider, order="average")
    with on_loopback(service_for()) as address, connect(address) as there:
        tool.check(there)
        with pytest.raises(InvalidInputError, match="order is average"):
            tool.check(there, order="average")
    with connect("http://127.0.0.1:9") as away:
        tool.check(away)


def test_questions_and_options_are_described() -> None:
    tool = SchemaTool("triage", QUESTIONS)
    assert "- lost: Is a parcel lost? (no; yes: it is gone; none of these)" in tool.description
    assert '- queue: Which team? (billing; shipping: {"what": ["parcels"]})' in tool.description
    assert "- anger: (0: calm; 1: furious)" in tool.description


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "state: is missing"),
        ({"state": "s", "model": "x"}, "model: is not known; the only argument is state"),
        ({"state": 7}, "state: must be text, a JSON object or a JSON array, not int"),
        ({"state": "long " * 5000}, "tokens"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        asyncio.run(SchemaTool("t", QUESTIONS).call(path_decider(), arguments))


def test_files_become_tools_by_their_names(tmp_path: Path) -> None:
    first, second = tmp_path / "is-safe.json", tmp_path / "triage.json"
    for path in (first, second):
        path.write_text('{"q": "Is it?"}')
    tools = read_tools([first, second])
    assert list(tools) == ["is-safe", "triage"]
    assert tools["triage"].questions == {"q": Boolean("Is it?")}
    with pytest.raises(InvalidInputError, match="is a second schema with the name 'triage'"):
        read_tools([second, second])
    odd = tmp_path / "a b.json"
    odd.write_text('{"q": "Is it?"}')
    with pytest.raises(InvalidInputError, match="its name becomes the tool's: letters"):
        read_tools([odd])
    policy: Any = object()
    with pytest.raises(InvalidInputError, match="policy: belongs to one schema; 2 are given"):
        read_tools([first, second], policy)
