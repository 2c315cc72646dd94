"""From the logits of a job to its answers: temperatures, orders, probabilities that sum to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.distribution import distribution
from thisthat.decide.exact_probabilities import quantized
from thisthat.decide.job import Job
from thisthat.decide.option_order import AS_GIVEN, in_declared_order
from thisthat.engine.rows import RowResult
from thisthat.prompt.builder import Place
from thisthat.prompt_format import Layout
from thisthat.questions import Answer, Question, answer_for
from thisthat.temperature import Temperatures, softmax


def answers_of(
    job: Job, results: Sequence[RowResult], temperatures: Temperatures
) -> dict[str, Answer]:
    """The answer to every question of the job, by name."""
    answers: dict[str, Answer] = {}
    places = iter(job.rendered.places)
    for (name, question), orders in zip(job.questions.items(), job.orders, strict=True):
        if orders == (AS_GIVEN,):
            found = _distribution(question, next(places), results, temperatures, job.layout)
        else:
            each = [
                in_declared_order(
                    _probabilities(question, next(places), results, temperatures, job.layout), order
                )
                for order in orders
            ]
            found = quantized(np.mean(each, axis=0)).tolist()
        answers[name] = answer_for(question, found)
    return answers


def _distribution(
    question: Question,
    place: Place,
    results: Sequence[RowResult],
    temperatures: Temperatures,
    layout: Layout,
) -> list[float]:
    if len(place.at) != 1:
        found = _probabilities(question, place, results, temperatures, layout)
        spread: list[float] = quantized(found).tolist()
        return spread
    row, slot = place.at[0]
    logits = results[row].logits[slot]
    return distribution(logits, temperatures.of(question.kind, len(logits), layout))


def _probabilities(
    question: Question,
    place: Place,
    results: Sequence[RowResult],
    temperatures: Temperatures,
    layout: Layout,
) -> NDArray[np.float64]:
    options = len(question.declared)
    if not place.at:
        return np.ones(options)
    columns = len(results[place.at[0][0]].logits[place.at[0][1]])
    temperature = temperatures.of(question.kind, columns, layout)
    each = [softmax(results[row].logits[slot], temperature) for row, slot in place.at]
    if len(each) == 1:
        return each[0]
    fits = np.array([fit[1] for fit in each])
    total = fits.sum()
    return fits / total if total > 0 else np.full(options, 1 / options)
