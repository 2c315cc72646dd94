"""Questions made by program from others: the answer is right, and no wording gives it away."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites import forms

ROUTE = Item(
    "user", "route", "choice", "s", "Which?", (("alpha", None), ("bravo", None), ("gamma", None)), 1
)
LEVELS = (("low", None), ("mid", None), ("top", None))
FACT = Item("user", "fact", "boolean", "s", "Is it?", (("no", "it is not"), ("yes", "it is")), 1)


def test_a_proposal_is_right_half_of_the_time_in_every_wording() -> None:
    answers: dict[str, Counter[int]] = {}
    for seed in range(6000):
        item = forms.verified(ROUTE, Rng(seed))
        assert item is not None
        assert (item.kind, item.family) == ("boolean", "route_verified")
        (proposed,) = [name for name, _ in ROUTE.options if name in item.question]
        wording = item.question.replace(proposed, "X")
        wrong = any(word in wording for word in ("wrong", "something else", "mistaken"))
        assert item.answer == ((proposed == "bravo") != wrong)
        answers.setdefault(wording, Counter())[item.answer] += 1
    assert len(answers) > 10
    for counts in answers.values():
        assert 0.4 < counts[1] / counts.total() < 0.6


def test_a_negated_boolean_has_the_other_answer_and_exchanged_descriptions() -> None:
    item = forms.negated(FACT, Rng(3))
    assert item is not None
    assert item.answer == 0
    assert item.options == (("no", "it is"), ("yes", "it is not"))
    assert FACT.question in item.question
    assert forms.negated(ROUTE, Rng(3)) is None


@given(st.integers(0, 2), st.integers(0, 10_000))
def test_at_least_says_whether_the_level_is_reached(answer: int, seed: int) -> None:
    level = Item("user", "level", "score", "s", "How?", LEVELS, answer)
    item = forms.at_least(level, Rng(seed))
    if item is None:
        return
    names = [name for name, _ in LEVELS]
    (asked,) = [n for n, name in enumerate(names) if f'"{name}"' in item.question]
    below = "less than" in item.question or "below" in item.question
    assert asked > 0
    assert item.answer == ((answer >= asked) != below)


@given(st.integers(0, 10_000))
def test_fewer_options_keep_the_right_one(seed: int) -> None:
    item = forms.with_fewer_options(ROUTE, Rng(seed))
    assert item is not None
    assert len(item.options) == 2
    assert item.options[item.answer][0] == "bravo"


def test_what_cannot_be_turned_is_left_alone() -> None:
    unsure = Item("user", "x", "choice", "s", "q", ROUTE.options, 1, target=(0.2, 0.5, 0.3))
    assert forms.verified(unsure, Rng(1)) is None
    assert forms.verified(FACT, Rng(1)) is None
    assert forms.at_least(ROUTE, Rng(1)) is None
    assert forms.with_fewer_options(unsure, Rng(1)) is None
