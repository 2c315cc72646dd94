"""From the logits of a job to its answers: temperatures, orders, probabilities that sum to 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.distribution import distribution
from thisthat.decide.exact_probabilities import quantized
from thisthat.decide.heads import Heads
from thisthat.decide.job import Job
from thisthat.decide.option_order import AS_GIVEN, in_declared_order
from thisthat.engine.rows import Logits, RowResult
from thisthat.prompt.builder import AnswerPlace
from thisthat.questions import Answer, Question, answer_for
from thisthat.temperature import Temperatures, softmax


def answers_of(
    job: Job,
    results: Sequence[RowResult],
    temperatures: Temperatures,
    heads: Heads | None = None,
) -> dict[str, Answer]:
    """The answer to every question of the job, by name; ``heads`` move those they were taught."""
    answers: dict[str, Answer] = {}
    places = iter(job.rendered.places)
    for (name, question), orders in zip(job.questions.items(), job.orders, strict=True):
        own = list(islice(places, len(orders)))
        asked = [[results[row].logits[slot] for row, slot in place.at] for place in own]
        columns = len(asked[0][0]) if asked[0] else 1
        heat = temperatures.of(question.kind, columns, job.layout)
        taught = heads is not None and asked[0] and heads.knows(question)
        if orders == (AS_GIVEN,) and len(asked[0]) == 1 and not taught:
            found = distribution(asked[0][0], heat)
        else:
            each = [
                in_declared_order(_probabilities(len(question.declared), logits, heat), order)
                for order, logits in zip(orders, asked, strict=True)
            ]
            mean = np.mean(each, axis=0)
            if taught and heads is not None:
                mean = _moved(heads, job, question, own, results, mean)
            found = quantized(mean).tolist()
        answers[name] = answer_for(question, found)
    return answers


def _moved(
    heads: Heads,
    job: Job,
    question: Question,
    places: Sequence[AnswerPlace],
    results: Sequence[RowResult],
    probabilities: NDArray[np.float64],
) -> NDArray[np.float64]:
    """What heads make of an answer, from the features of all slots that it was read at."""
    slots = [at for place in places for at in place.at]
    given = [
        features[slot] for row, slot in slots if (features := results[row].features) is not None
    ]
    row = job.rendered.rows[slots[0][0]]
    state = row.trunk[slice(*row.state)]
    mean = np.mean(given, axis=0) if given else None
    return heads.moved(question, probabilities, mean, job.layers, state)


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
