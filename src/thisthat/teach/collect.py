"""What a checkpoint makes of labelled states: its answers, hidden states, and the words it read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.decider import Decider
from thisthat.decide.heads import SMALLEST
from thisthat.decide.job import Job, JobResult
from thisthat.decide.run import run_jobs
from thisthat.engine.rows import Hidden
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.identity import state_hash
from thisthat.prompt_format import Layout
from thisthat.questions import Boolean, Question, Text, compact_json

DEPTHS = (0.4, 0.6, 0.8)
"""Layers whose hidden states are read, as fractions of the model's depth."""

_TOGETHER = 32


@dataclass(frozen=True)
class Collected:
    """Of every state the logarithms of the answer's probabilities, features and text.

    ``features`` is [states, layers, 3, width], after ``layers``.
    """

    logs: NDArray[np.float64]
    features: Hidden
    texts: Sequence[str]
    layers: tuple[int, ...]

    def part(self, rows: NDArray[np.int64]) -> Collected:
        """Some of the states."""
        texts = [self.texts[row] for row in rows]
        return Collected(self.logs[rows], self.features[rows], texts, self.layers)


def layers_at(depths: Sequence[float], layers: int) -> tuple[int, ...]:
    """Layers at these fractions of a depth of ``layers`` + 1, of which the last is not to be had.

    Raises CheckpointError where an engine hands out none.
    """
    if layers < 1:
        raise CheckpointError("this engine hands out no hidden states, so it cannot be taught")
    return tuple(sorted({min(max(1, round(depth * (layers + 1))), layers) for depth in depths}))


def collect(
    decider: Decider,
    question: Question,
    states: Sequence[Text],
    progress: Callable[[int], None] = lambda done: None,
    layouts: Sequence[Layout] | None = None,
) -> Collected:
    """Ask the question about every state; ``progress`` is told how many are done.

    ``layouts`` has one for every state; None: as the checkpoint prefers. Raises InvalidInputError
    naming a state that cannot be read.
    """
    layouts = layouts or [decider.reading.layout] * len(states)
    layers = layers_at(DEPTHS, decider.engine.capabilities.layers)
    logs: list[NDArray[np.float64]] = []
    features: list[Hidden] = []
    texts: list[str] = []
    for start in range(0, len(states), _TOGETHER):
        jobs = [
            _asking(decider, question, states[number], layouts[number], layers, number)
            for number in range(start, min(start + _TOGETHER, len(states)))
        ]
        results = dict(run_jobs(decider.engine, jobs, together=True))
        for number, job in enumerate(jobs):
            decision = decider.processor.decision(job, results[number])
            probabilities = list(decision.answers["question"].probabilities.values())
            logs.append(np.log(np.maximum(probabilities, SMALLEST)))
            features.append(_features(job, results[number], layers))
            row = job.rendered.rows[job.rendered.places[0].at[0][0]]
            texts.append(decider.decode(row.trunk[slice(*row.state)]))
        progress(start + len(jobs))
    return Collected(np.array(logs), np.array(features), texts, layers)


def lesson_layouts(layouts: Sequence[Layout], states: Sequence[Text]) -> list[Layout]:
    """A layout to learn each state in, drawn by its text: what is learned then holds in all.

    By its place in the file it could go together with its label.
    """
    return [layouts[int(state_hash(state), 16) % len(layouts)] for state in states]


def collect_options(decider: Decider, question: Question) -> Collected | None:
    """What a checkpoint makes of the texts of a choice's options; None for other questions."""
    if question.kind != "choice":
        return None
    texts = [
        ": ".join(_text(part) for part in (option.name, option.description) if part is not None)
        for option in question.declared
    ]
    return collect(decider, Boolean("Is it so?"), texts)


def _text(given: Text) -> str:
    return given if isinstance(given, str) else compact_json(given)


def _features(job: Job, result: JobResult, layers: tuple[int, ...]) -> Hidden:
    """The mean over the slots of the job's question, as its head will be given it."""
    given = [
        features[slot]
        for row, slot in job.rendered.places[0].at
        if (features := result.rows[row].features) is not None
    ]
    places = [job.layers.index(layer) for layer in layers]
    mean: Hidden = np.mean(given, axis=0)[places]
    return mean


def _asking(
    decider: Decider,
    question: Question,
    state: Text,
    layout: Layout,
    layers: tuple[int, ...],
    number: int,
) -> Job:
    """The job of one state, whose rows ask for these layers beside those that heads read."""
    try:
        job = decider.prepare(state, {"question": question}, layout=layout)
    except InvalidInputError as error:
        raise error.under(f"states[{number}]") from None
    wanted = tuple(sorted({*layers, *job.layers}))
    rows = tuple(replace(row, layers=wanted) for row in job.rendered.rows)
    return replace(job, rendered=replace(job.rendered, rows=rows), layers=wanted)
