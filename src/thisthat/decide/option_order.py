"""Answers that do not depend on the order of a choice's options: which orders to ask, and back.

The orders are rotations of the options sorted by name. Whatever order the caller declares, the same
prompts are read and the same mean comes out, so the average is order-free by construction and not
only on average.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat.questions import Choice, Question

Order: TypeAlias = Literal["as-given", "average"]
Places: TypeAlias = tuple[int, ...]

AS_GIVEN: Places = ()
"""The declared order."""

MOST_ORDERS = 8
"""A choice with more options than this is asked in this many evenly spaced rotations."""


def orders_of(question: Question, order: Order) -> tuple[Places, ...]:
    """The orders to ask a question in, each a tuple of places in the declared order.

    Only a choice is reordered: the order of a boolean's and a score's options is part of the
    question, and an abstain option stays last. Raises InvalidInputError for an unknown ``order``.
    """
    if order not in ("as-given", "average"):
        raise InvalidInputError("order", f"{order!r} is neither as-given nor average")
    if order == "as-given" or not isinstance(question, Choice) or len(question.options) < 2:
        return (AS_GIVEN,)
    count = len(question.options)
    sorted_places = sorted(range(count), key=lambda place: question.options[place].name)
    orders = min(count, MOST_ORDERS)
    starts = [number * count // orders for number in range(orders)]
    return tuple(tuple(sorted_places[start:] + sorted_places[:start]) for start in starts)


def reordered(question: Question, places: Places) -> Question:
    """The question with its options in that order."""
    if places == AS_GIVEN or not isinstance(question, Choice):
        return question
    options = [question.options[place] for place in places]
    return Choice(options, question.instructions, question.abstain)


def in_declared_order(probabilities: NDArray[np.float64], places: Places) -> NDArray[np.float64]:
    """A distribution over reordered options, back in the declared order."""
    if places == AS_GIVEN:
        return probabilities
    declared = probabilities.copy()
    declared[list(places)] = probabilities[: len(places)]
    return declared
