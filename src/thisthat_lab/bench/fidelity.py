"""How far a numeric form's answers are from another's: changed best options and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item, render_state

if TYPE_CHECKING:
    from thisthat.decide.decider import Decider

Progress = Callable[[int, int], None]
Probabilities = Sequence[float]


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Over ``questions``: how often the best option changed, and |Δp| over all their options.

    ``mean_change`` averages over options within a question first, then over questions;
    ``largest_change`` is the largest of any option; ``changed_margin`` is the largest lead, in the
    reference, of a best option that changed.
    """

    questions: int
    changed_best: float
    mean_change: float
    largest_change: float
    changed_margin: float


def compare(reference: Sequence[Probabilities], candidate: Sequence[Probabilities]) -> Fidelity:
    """Compare two systems' probabilities for the same questions.

    Raises InvalidInputError without questions, and when the two are not about the same ones.
    """
    if not reference:
        raise InvalidInputError("items", "there are none to compare answers on")
    if [len(row) for row in reference] != [len(row) for row in candidate]:
        raise InvalidInputError("candidate", "answers other questions than the reference")
    changes = [
        np.abs(np.subtract(one, other)) for one, other in zip(reference, candidate, strict=True)
    ]
    margins = [
        max(one) - one[int(np.argmax(other))]
        for one, other in zip(reference, candidate, strict=True)
        if np.argmax(one) != np.argmax(other)
    ]
    return Fidelity(
        questions=len(reference),
        changed_best=len(margins) / len(reference),
        mean_change=float(np.mean([change.mean() for change in changes])),
        largest_change=float(max(change.max() for change in changes)),
        changed_margin=float(max(margins, default=0.0)),
    )


def measure(
    reference: Decider, candidate: Decider, items: Sequence[Item], progress: Progress | None = None
) -> Fidelity:
    """Put the same items to both deciders and compare.

    ``progress`` is told how many (state, questions) pairs are done and how many there are in all.
    Raises what ``compare`` and ``Decider.decide_pairs`` raise.
    """
    pairs = []
    for _, group in groupby(items, key=lambda item: render_state(item.state)):
        members = list(group)
        questions = {str(number): item.as_question() for number, item in enumerate(members)}
        pairs.append((members[0].state, questions))
    answers: list[list[Probabilities]] = []
    for number, decider in enumerate((reference, candidate)):
        before = number * len(pairs)

        def report(done: int, _: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, 2 * len(pairs))

        decisions = decider.decide_pairs(pairs, progress=report)
        answers.append(
            [
                tuple(answer.probabilities.values())
                for decision in decisions
                for answer in decision.answers.values()
            ]
        )
    return compare(*answers)
