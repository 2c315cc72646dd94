"""The JSON request: what is asked for can be written, and what is written can be read."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.questions import Boolean, Choice, Question, Score
from thisthat_lab.bench.systems.competitors import json_task
from thisthat_lab.bench.timing.comparison import TRIAGE

NAMES = st.text('abc "\\é', min_size=1, max_size=6).filter(lambda text: text.strip() != "")
QUESTIONS = st.dictionaries(
    NAMES,
    st.one_of(
        st.just(Boolean("Is it?")),
        st.lists(NAMES, min_size=2, max_size=5, unique=True).map(lambda names: Choice(names)),
        st.integers(2, 5).map(lambda count: Score([f"level {n}" for n in range(count)])),
    ),
    min_size=1,
    max_size=4,
)


def value_of(question: Question, place: int) -> object:
    if isinstance(question, Boolean):
        return bool(place)
    return place if isinstance(question, Score) else question.declared[place].name


def literals(grammar: str) -> list[list[str]]:
    """The alternatives of every part of a grammar, in order."""
    text = r'"(?:[^"\\]|\\.)*"'
    parts = re.findall(rf"\({text}(?: \| {text})*\)|{text}", grammar.removeprefix("root ::= "))
    return [[json.loads(literal) for literal in re.findall(text, part)] for part in parts]


@settings(deadline=None)
@given(QUESTIONS, st.data())
def test_every_reply_the_grammar_allows_can_be_read(
    questions: dict[str, Question], data: st.DataObject
) -> None:
    places = {
        name: data.draw(st.integers(0, len(question.declared) - 1))
        for name, question in questions.items()
    }
    said = {name: value_of(question, places[name]) for name, question in questions.items()}
    found = json_task.chosen(json.dumps(said), questions)
    assert found == {
        name: question.declared[places[name]].name for name, question in questions.items()
    }
    written = ""
    values = iter(said.values())
    for alternatives in literals(json_task.grammar(questions)):
        if len(alternatives) == 1:
            written += alternatives[0]
        else:
            value = json.dumps(next(values))
            assert alternatives.count(value) == 1
            written += value
    assert json.loads(written) == said
    assert len(json.dumps(said)) <= len(json_task.longest_reply(questions))


def test_the_schema_names_every_value() -> None:
    schema = json_task.json_schema(TRIAGE)
    assert schema["required"] == list(TRIAGE)
    assert schema["properties"]["urgent"] == {"type": "boolean"}
    assert schema["properties"]["harm"] == {"enum": [0, 1, 2, 3]}
    assert schema["properties"]["team"]["enum"] == ["billing", "shipping", "returns", "account"]


def test_the_request_has_everything_in_either_order() -> None:
    warm = json_task.request("A state.", TRIAGE, questions_first=True)
    cold = json_task.request("A state.", TRIAGE, questions_first=False)
    assert warm.endswith("Context:\nA state.")
    assert sorted(warm.split("\n\n")) == sorted(cold.split("\n\n"))
    assert '- "billing" (charges, refunds and invoices)' in warm


@pytest.mark.parametrize("reply", ["", "{}", '{"urgent": "maybe"}'])
def test_another_reply_is_no_answer(reply: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        json_task.chosen(reply, TRIAGE)
