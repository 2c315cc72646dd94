"""From the logits of a job to its answers: temperatures, orders, probabilities that sum to 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.distribution import distribution
from thisthat.decide.exact_probabilities import quantized
from thisthat.decide.job import Job
from thisthat.decide.option_order import AS_GIVEN, in_declared_order
from thisthat.engine.rows import Logits, RowResult
from thisthat.questions import Answer, answer_for
from thisthat.temperature import Temperatures, softmax


def answers_of(
    job: Job, results: Sequence[RowResult], temperatures: Temperatures
) -> dict[str, Answer]:
    """The answer to every question of the job, by name."""
    answers: dict[str, Answer] = {}
    places = iter(job.rendered.places)
    for (name, question), orders in zip(job.questions.items(), job.orders, strict=True):
        asked = [
            [results[row].logits[slot] for row, slot in place.at]
            for place in islice(places, len(orders))
        ]
        columns = len(asked[0][0]) if asked[0] else 1
        heat = temperatures.of(question.kind, columns, job.layout)
        if orders == (AS_GIVEN,) and len(asked[0]) == 1:
            found = distribution(asked[0][0], heat)
        else:
            each = [
                in_declared_order(_probabilities(len(question.declared), logits, heat), order)
                for order, logits in zip(orders, asked, strict=True)
            ]
            found = quantized(np.mean(each, axis=0)).tolist()
        answers[name] = answer_for(question, found)
    return answers


def _probabilities(
    options: int, slots: Sequence[Logits], temperature: float
) -> NDArray[np.float64]:
    """One slot ranges over all options; of several, each asks whether its own option fits."""
    if not slots:
        return np.ones(options)
    each = [softmax(logits, temperature) for logits in slots]
    if len(each) == 1:
        return each[0]
    fits = np.array([fit[1] for fit in each])
    total = fits.sum()
    return fits / total if total > 0 else np.full(options, 1 / options)
