import pytest

from thisthat import Boolean, Choice, InvalidInputError, Score
from thisthat.questions import Option, Question
from thisthat.questions_json import question_as_json, question_from_json, questions_from_json


@pytest.mark.parametrize(
    "question",
    [
        Boolean(),
        Boolean({"ask": ["Is it?"]}, true="so", abstain="neither"),
        Choice(["b", "a"], "Which?", abstain=True),
        Choice({"x": None, "y": {"what": 1}}),
        Score(["low", {"mid": 2}, "high"], "How much?", abstain=True),
    ],
)
def test_a_question_written_as_json_is_read_as_itself(question: Question) -> None:
    again = question_from_json(question_as_json(question))
    assert again == question
    assert again.declared == question.declared


def test_an_abstain_option_with_a_description_has_no_place_in_json() -> None:
    with pytest.raises(InvalidInputError, match=r"abstain\.description: cannot be written"):
        question_as_json(Boolean("Is it?", abstain=Option("neither", "no sign")))


def test_every_kind_is_read() -> None:
    questions = questions_from_json(
        {
            "plain": "Is it?",
            "noul": {"type": "noul", "criteria": {"true": "it is"}},
            "boolean": {"type": "boolean", "instructions": "Is it?", "abstain": True},
            "choice": {"type": "choice", "criteria": {"a": "first", "b": None}},
            "listed": {"type": "choice", "criteria": ["a", "b"], "abstain": "neither"},
            "score": {"type": "score", "criteria": ["low", {"level": "high"}]},
        }
    )
    assert questions == {
        "plain": Boolean("Is it?"),
        "noul": Boolean(true="it is"),
        "boolean": Boolean("Is it?", abstain=True),
        "choice": Choice({"a": "first", "b": None}),
        "listed": Choice(["a", "b"], abstain="neither"),
        "score": Score(["low", {"level": "high"}]),
    }


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "questions: must be an object of named questions, not an empty one"),
        ([], "questions: must be an object of named questions, not list"),
        ("questions.json", "questions: must be an object of named questions, not str; json.load"),
        ({"q": 3}, "questions.q: must be an object or a text, not int"),
        (
            {"q": {"type": "rank"}},
            "questions.q.type: is 'rank'; it must be one of boolean, choice, score",
        ),
        (
            {"q": {"type": "score", "levels": []}},
            "questions.q.levels: is not known; it is called criteria here",
        ),
        (
            {"q": {"type": "boolean", "question": "Is it?"}},
            "questions.q.question: is not known; it is called instructions here",
        ),
        (
            {"q": {"type": "boolean", "weight": 2}},
            "questions.q.weight: is not known; a question has abstain, criteria",
        ),
        ({"q": {"type": "choice"}}, "questions.q.criteria: must be an object of labels"),
        ({"q": {"type": "choice", "criteria": []}}, "questions.q.criteria: 0 given"),
        ({"q": {"type": "choice", "criteria": ["a", "a"]}}, "questions.q.criteria[1].name: 'a' is"),
        (
            {"q": {"type": "score", "criteria": ["x", "x"]}},
            "questions.q.criteria[1]: is the same as level 0",
        ),
        ({"q": {"type": "score", "criteria": "low"}}, "questions.q.criteria: must be a list"),
        (
            {"q": {"type": "noul", "criteria": ["a"]}},
            "questions.q.criteria: must be an object with",
        ),
        (
            {"q": {"type": "noul", "abstain": 3}},
            "questions.q.abstain: must be true, false or a name",
        ),
    ],
)
def test_what_is_wrong_is_named(value: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        questions_from_json(value)
    assert str(caught.value).startswith(message)
