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


@dataclass(frozen=True)
class Again:
    """Other readings of ``rows`` of what was collected: the same states in another layout."""

    collected: Collected
    rows: NDArray[np.int64]

    def part(self, rows: NDArray[np.int64]) -> Again:
        """Those of some of the states, which are counted as they stand in ``rows``."""
        place = {int(row): number for number, row in enumerate(rows)}
        kept = [number for number, row in enumerate(self.rows) if int(row) in place]
        new = [place[int(self.rows[number])] for number in kept]
        return Again(self.collected.part(np.array(kept, np.int64)), np.array(new, np.int64))


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
    layout: Layout | None = None,
    rows: Sequence[int] | None = None,
) -> Collected:
    """Ask the question about every state; ``progress`` is told how many are done.

    Without ``layout`` as the checkpoint prefers; with ``rows`` about those states alone. Raises
    InvalidInputError naming a state that cannot be read.
    """
    layers = layers_at(DEPTHS, decider.engine.capabilities.layers)
    rows = range(len(states)) if rows is None else rows
    logs: list[NDArray[np.float64]] = []
    features: list[Hidden] = []
    texts: list[str] = []
    for start in range(0, len(rows), _TOGETHER):
        jobs = [
            _asking(decider, question, states[row], layout, layers, row)
            for row in rows[start : start + _TOGETHER]
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


def collect_lessons(
    decider: Decider,
    question: Question,
    states: Sequence[Text],
    progress: Callable[[int], None] = lambda done: None,
) -> tuple[Collected, Again | None]:
    """``collect``, and about half of the states in another layout too: what a head learns from.

    Which half is drawn by their texts; by its place in the file it could go together with labels.
    ``again`` is None where the checkpoint reads one layout.
    """
    found = collect(decider, question, states, progress)
    others = [each for each in decider.reading.layouts if each != decider.reading.layout]
    rows = [row for row, state in enumerate(states) if others and int(state_hash(state), 16) % 2]
    if not rows:
        return found, None
    again = collect(
        decider, question, states, lambda done: progress(len(states) + done), others[0], rows
    )
    return found, Again(again, np.array(rows))


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
    layout: Layout | None,
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
