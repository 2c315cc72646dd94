"""Heads and trained weights together: each counts by what rows held out say of it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.decide.test_heads import QUEUE, head_of
from thisthat.items.item import Item
from thisthat.teach.fit_head import log_softmax
from thisthat.teach.regression import Floats, Stack
from thisthat_lab.train.beside import Answers, Light, _weighed, as_declared, together

ROWS = 200


def item(row: int, answer: int, question: str = "Is it?") -> Item:
    options = (("no", None), ("yes", None))
    return Item("source", "family", "boolean", f"state {row}", question, options, answer)


def told(labels: np.ndarray, strength: float, seed: int) -> Floats:
    """Logits that lean towards the labels, with noise."""
    noise = np.random.default_rng(seed).standard_normal((len(labels), 2))
    noise[np.arange(len(labels)), labels] += strength
    return log_softmax(2 * noise)


@pytest.fixture
def labels() -> np.ndarray:
    return np.random.default_rng(0).integers(2, size=ROWS)


def declared(items: list[Item], logs: Floats) -> list[Floats]:
    return [as_declared(each, row) for each, row in zip(items, logs, strict=True)]


def test_both_together_beat_either(labels: np.ndarray) -> None:
    items = [item(row, int(label)) for row, label in enumerate(labels)]
    heads = declared(items, told(labels, 1.2, 1))
    own = declared(items, told(labels, 1.2, 2))
    found = together(Light({}, (), heads, dict(enumerate(heads))), items, own)
    nll = Answers(items, found.logs).nll
    assert nll < min(Answers(items, heads).nll, Answers(items, own).nll) - 0.05
    stack = found.stacks["Is it?"]
    assert 0.5 < stack.guess / stack.own < 2


def test_trained_weights_that_say_nothing_hardly_count(labels: np.ndarray) -> None:
    items = [item(row, int(label)) for row, label in enumerate(labels)]
    heads = declared(items, told(labels, 2.0, 1))
    noise = declared(items, told(labels, 0.0, 2))
    found = together(Light({}, (), heads, dict(enumerate(heads))), items, noise)
    stack = found.stacks["Is it?"]
    assert stack.own < 0.3 * stack.guess
    assert Answers(items, found.logs).nll < Answers(items, noise).nll


def test_without_a_head_or_with_few_rows_the_weights_answer_alone(labels: np.ndarray) -> None:
    items = [
        item(row, int(label), "Rare?" if row < 10 else "Is it?") for row, label in enumerate(labels)
    ]
    own = declared(items, told(labels, 1.0, 2))
    few = {row: own[row] for row in range(10)}
    found = together(Light({}, (), own, few), items, own)
    assert found.stacks == {}
    assert all(np.array_equal(mine, given) for mine, given in zip(found.logs, own, strict=True))


def test_a_weighed_head_adds_its_share_to_the_answer_below_it() -> None:
    head = head_of(QUEUE)
    stack = Stack(0.5, 0.3, np.linspace(-0.2, 0.2, len(head.names)))
    weighed = _weighed(head, stack)
    logs = log_softmax(np.random.default_rng(3).standard_normal((1, len(head.names))))[0]
    hidden = np.random.default_rng(4).standard_normal((2, 3, head.centre.size // 4))
    hidden = hidden.astype(np.float32)
    guess = head.shift(np.zeros_like(logs), hidden, "a parcel")
    wanted = stack.guess * guess + stack.own * logs + stack.bias
    assert logs + weighed.shift(logs, hidden, "a parcel") == pytest.approx(wanted, abs=5e-3)


def test_values_follow_the_order_in_which_the_question_declares() -> None:
    one = item(0, 1)
    names = [option.name for option in one.as_question().declared]
    values = as_declared(one, np.array([0.25, 0.75]))
    assert dict(zip(names, values, strict=True)) == {"no": 0.25, "yes": 0.75}
