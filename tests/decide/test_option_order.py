import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.path_engine import path_decider
from thisthat import Boolean, Choice, InvalidInputError, Score
from thisthat.decide.option_order import (
    AS_GIVEN,
    MOST_ORDERS,
    in_declared_order,
    orders_of,
    reordered,
)

NAMES = ["billing", "shipping", "returns", "other"]


def test_every_order_of_the_options_gives_exactly_the_same_average() -> None:
    decider = path_decider()
    answers = [
        decider.ask("a state", Choice(list(order), "Which queue?", abstain=True), order="average")
        for order in itertools.permutations(NAMES)
    ]
    assert len({tuple(sorted(answer.probabilities.items())) for answer in answers}) == 1
    as_given = {
        decider.ask("a state", Choice(list(order), "Which queue?")).best_name
        for order in itertools.permutations(NAMES)
    }
    assert len(as_given) > 1


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
def test_the_average_is_the_mean_over_the_rotations(layout: str) -> None:
    decider = path_decider()
    question = Choice(NAMES, "Which queue?")
    names = sorted(NAMES)
    each = [
        decider.ask("a state", Choice(names[turn:] + names[:turn], "Which queue?"), layout=layout)
        for turn in range(4)
    ]
    answer = decider.ask("a state", question, order="average", layout=layout)
    for name, probability in answer.probabilities.items():
        mean = np.mean([one.probabilities[name] for one in each])
        assert probability == pytest.approx(mean, abs=1e-12)


def test_one_pass_one_row_and_the_cost_is_stated() -> None:
    decider = path_decider()
    question = Choice(NAMES, "Which of these queues should handle the message?")
    plain = decider.decide("a state", {"queue": question})
    averaged = decider.decide("a state", {"queue": question}, order="average")
    assert decider.engine.calls == [1, 1]  # type: ignore[attr-defined]
    assert plain.usage.extra_tokens == 0
    extra = averaged.usage.input_tokens - plain.usage.input_tokens
    assert averaged.usage.extra_tokens == extra
    branch = len("\nOptions:\n(A) billing\n(B) shipping\n(C) returns\n(D) other\nAnswer: (")
    assert 0 < extra <= 3 * branch
    assert averaged.as_dict()["usage"]["extra_tokens"] == extra


def test_booleans_scores_and_single_options_are_asked_as_given() -> None:
    decider = path_decider()
    questions = {
        "refund": Boolean("Is it?"),
        "anger": Score(["calm", "angry"], "How angry?"),
        "only": Choice(["this"]),
    }
    given_, averaged = (
        decider.decide("s", questions, order=order)  # type: ignore[call-overload]
        for order in ("as-given", "average")
    )
    assert given_.answers == averaged.answers
    assert averaged.usage.extra_tokens == 0


def test_many_options_are_asked_in_a_few_rotations() -> None:
    question = Choice([f"option {number}" for number in range(100)])
    orders = orders_of(question, "average")
    assert len(orders) == MOST_ORDERS
    firsts = [order[0] for order in orders]
    assert len(set(firsts)) == MOST_ORDERS
    answer = path_decider().ask("s", question, order="average")
    assert list(answer.probabilities) == [option.name for option in question.options]


@settings(deadline=None)
@given(st.permutations(range(5)), st.booleans())
def test_reordering_and_back(places: list[int], abstain: bool) -> None:
    question = Choice(["a", "b", "c", "d", "e"], abstain=abstain)
    turned = reordered(question, tuple(places))
    assert isinstance(turned, Choice)
    values = np.array([float(len(question.names) + "abcde".find(n[0])) for n in turned.names])
    back = in_declared_order(values, tuple(places))
    assert back[:5].tolist() == sorted(back[:5].tolist())
    assert reordered(question, AS_GIVEN) is question


def test_a_typed_schema_and_many_states_can_be_averaged() -> None:
    decider = path_decider()
    question = Choice(NAMES, "Which queue?")
    many = decider.decide_many(["one", "two"], {"queue": question}, order="average")
    assert many[1]["queue"] == decider.ask("two", question, order="average")


def test_bad_orders_are_named() -> None:
    decider = path_decider()
    with pytest.raises(InvalidInputError, match="order: 'random' is neither as-given nor average"):
        decider.ask("s", Choice(NAMES), order="random")
    with pytest.raises(InvalidInputError, match='order: "average" needs packing "apart"'):
        decider.ask("s", Choice(NAMES), order="average", packing="together")
