import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat import (
    Boolean,
    BooleanAnswer,
    Choice,
    Decision,
    InvalidInputError,
    Option,
    Score,
    ScoreAnswer,
    Source,
    Usage,
)
from thisthat.errors import UnknownQuestionError
from thisthat.questions import Question, answer_for, check_text


def distributions(count: int) -> st.SearchStrategy[list[float]]:
    weights = st.lists(st.floats(1e-6, 1), min_size=count, max_size=count)
    return weights.map(lambda w: [x / math.fsum(w) for x in w])


def test_options_can_be_declared_in_every_natural_way() -> None:
    assert Choice(["a", "b"]).options == (Option("a"), Option("b"))
    assert Choice({"a": "first", "b": None}).options == (Option("a", "first"), Option("b"))
    assert Choice([("a", {"k": 1}), Option("b")]).options[0].description == {"k": 1}
    assert Choice(["a"], abstain=True).names == ("a", "none of these")
    assert Choice(["a"], abstain="cannot tell").names == ("a", "cannot tell")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Choice([]), "options: 0 given; there must be 1 to 255"),
        (
            lambda: Choice([str(n) for n in range(256)]),
            "options: 256 given; there must be 1 to 255",
        ),
        (
            lambda: Choice([str(n) for n in range(255)], abstain=True),
            "options: 255 given; there must be 1 to 254 beside the abstain option",
        ),
        (lambda: Choice(["a", "b", "a"]), "options[2].name: 'a' is already the name of option 0"),
        (
            lambda: Choice(["a"], abstain="a"),
            "options[1].name: 'a' is already the name of option 0",
        ),
        (lambda: Choice(["a", " "]), "options[1].name: is empty"),
        (lambda: Choice([3]), "options: has 3; an option is a name"),  # type: ignore[list-item]
        (lambda: Choice("ab"), "options: must be a list or an object of names"),
        (lambda: Choice(["a\0"]), "options[0].name: has a NUL character at position 1"),
        (lambda: Choice(["a"], "why \ud800"), "instructions: has a lone surrogate U+D800"),
        (lambda: Choice([("a", {"x": float("nan")})]), "options[0].description.x: has nan"),
        (lambda: Score([]), "levels: 0 given; there must be 1 to 255"),
        (lambda: Score(["low", ""]), "levels[1]: is empty"),
        (lambda: Score(["x", "y", "x"]), "levels[2]: is the same as level 0"),
        (lambda: Score([{"a": 1}, {"a": 1}]), "levels[1]: is the same as level 0"),
        (lambda: Score("low"), "levels: must be a list of level texts, not one text"),
        (lambda: Score(3), "levels: must be a list of level texts, not 3"),  # type: ignore[arg-type]
        (lambda: Boolean(true=3), "true: must be text"),  # type: ignore[arg-type]
        (lambda: Boolean(5), "instructions: must be text"),  # type: ignore[arg-type]
        (lambda: Boolean(" \n"), "instructions: is empty"),
        (lambda: Boolean({}, true="", false=[]), "instructions: is empty"),
    ],
)
def test_bad_questions_say_what_is_wrong(make: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value).startswith(message)


def test_instructions_may_be_left_to_descriptions_options_or_the_state() -> None:
    Boolean("", true="the parcel is lost")
    Boolean()
    Choice(["billing", "shipping"], "")
    Score(["calm", "furious"], "")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (7, "state: must be text, a JSON object or a JSON array, not int"),
        (None, "state: must be text, a JSON object or a JSON array, not NoneType"),
        (b"bytes", "state: must be text, a JSON object or a JSON array, not bytes"),
        ({"a": [1, float("inf")]}, "state.a[1]: has inf, which JSON cannot hold"),
        ({"a": {1: 2}}, "state.a: has the key 1; the keys of a JSON object are text"),
        ({"a": object()}, "state.a: has a object, which JSON cannot hold"),
        ("x\0y", "state: has a NUL character at position 1"),
        (["\udfff"], "state[0]: has a lone surrogate U+DFFF at position 0"),
    ],
)
def test_bad_states_say_what_is_wrong(state: object, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_text(state, "state")
    assert str(caught.value).startswith(message)


def test_a_state_nested_too_deep_is_refused() -> None:
    state: list[object] = []
    for _ in range(70):
        state = [state]
    with pytest.raises(InvalidInputError, match="nested deeper than 64 levels"):
        check_text(state, "state")


def test_an_empty_state_is_allowed() -> None:
    check_text("", "state")
    check_text({}, "state")


@given(distributions(4))
def test_choice_answers_follow_the_formulas(p: list[float]) -> None:
    answer = answer_for(Choice(["a", "b", "c", "d"]), p)
    best = max(p)
    assert list(answer.probabilities) == ["a", "b", "c", "d"]
    assert answer.probabilities[answer.best_name] == best
    assert answer.confidence == pytest.approx((best - 0.25) / 0.75)
    assert answer.entropy == pytest.approx(-sum(x * math.log(x) for x in p))


@given(distributions(5))
def test_score_answers_follow_the_formulas(p: list[float]) -> None:
    answer = answer_for(Score(["a", "b", "c", "d", "e"]), p)
    assert isinstance(answer, ScoreAnswer)
    mode = p.index(max(p))
    spread = sum(x * abs(i - mode) for i, x in enumerate(p))
    assert answer.expected == pytest.approx(sum(i * x for i, x in enumerate(p)))
    assert answer.confidence == pytest.approx(max(0, 1 - spread / 1.2))
    assert answer.best == mode


def test_a_single_option_is_certain() -> None:
    for question in (Choice(["only"]), Score(["only"])):
        answer = answer_for(question, [1.0])
        assert answer.confidence == 1
        assert answer.entropy == 0


def test_a_boolean_answer_compares_as_its_probability_of_yes() -> None:
    answer = answer_for(Boolean("Is it?"), [0.25, 0.75])
    assert isinstance(answer, BooleanAnswer)
    assert answer > 0.7
    assert answer >= 0.75
    assert answer < 0.9
    assert not answer > 0.9
    assert float(answer) == 0.75
    assert answer == 0.75
    assert answer.best is True
    with pytest.raises(TypeError, match="compare it with a threshold"):
        bool(answer)


@pytest.mark.parametrize(
    ("question", "option"),
    [
        (Choice(["a", "b"]), "a"),
        (Score(["a", "b"]), 0),
        (Score(["a", "b"]), "a"),
        (Boolean("Is it?"), True),
        (Boolean("Is it?"), "yes"),
    ],
)
def test_an_answer_is_no_option(question: Question, option: object) -> None:
    answer = answer_for(question, [0.25, 0.75])
    for compare in (lambda: answer == option, lambda: answer != option, lambda: option == answer):
        with pytest.raises(TypeError, match=r"compare answer\.best"):
            compare()
    assert answer == answer_for(question, [0.25, 0.75])
    assert answer != answer_for(question, [0.75, 0.25])
    assert answer is not None
    assert answer != None  # noqa: E711


@pytest.mark.parametrize(
    ("question", "instead"),
    [
        (Choice(["a", "b"]), r"answer\.probabilities\[name\]"),
        (Score(["a", "b"]), r"answer\.expected"),
    ],
)
def test_only_a_boolean_is_more_or_less_than_a_number(question: Question, instead: str) -> None:
    answer: Any = answer_for(question, [0.25, 0.75])
    for compare in (
        lambda: answer > 0.5,
        lambda: answer <= 0.5,
        lambda: answer < 0.5,
        lambda: answer >= answer,
    ):
        with pytest.raises(TypeError, match=f"not more or less than anything: .*{instead}"):
            compare()


def test_a_question_that_was_not_asked_is_told_beside_those_that_were() -> None:
    answer = answer_for(Boolean("Is it?"), [0.25, 0.75])
    decision = Decision(
        {"request": answer, "company": answer}, Source("m", "1", 1.0), Usage(1), 0.1
    )
    with pytest.raises(KeyError) as near:
        decision["requst"]
    assert str(near.value) == "'requst' is not a question of this decision; did you mean 'request'?"
    with pytest.raises(UnknownQuestionError, match=r"there are request, company$"):
        decision["x"]


def test_abstaining_is_one_of_the_options_and_the_score_leaves_it_out() -> None:
    question = Score(["low", "high"], abstain=True)
    assert [option.name for option in question.declared] == ["0", "1", "none of these"]
    answer = answer_for(question, [0.1, 0.3, 0.6])
    assert isinstance(answer, ScoreAnswer)
    assert answer.abstained
    assert answer.best is None
    assert answer.expected == pytest.approx(0.75)
    boolean = answer_for(Boolean("?", abstain=True), [0.2, 0.1, 0.7])
    assert isinstance(boolean, BooleanAnswer)
    assert boolean.best is None
    assert boolean.yes == 0.1


@pytest.mark.parametrize("p", [[0.5, 0.6], [1.5, -0.5], [1.0]])
def test_what_is_no_distribution_is_refused(p: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="probabilities"):
        answer_for(Boolean(), p)


def test_a_decision_is_json_ready() -> None:
    answers = {"fit": answer_for(Score(["no", "yes"]), [0.25, 0.75])}
    decision = Decision(answers, Source("m", "1", 0.5), Usage(10, 4), 0.01)
    record = decision.as_dict()
    assert record["answers"]["fit"]["expected"] == 0.75
    assert record["usage"] == {
        "input_tokens": 10,
        "cached_tokens": 4,
        "output_tokens": 0,
        "extra_tokens": 0,
    }
    assert record["lambda"] == 0.5
    assert decision["fit"] is answers["fit"]
