"""A head for one question, fitted on labelled states; how much to learn is cross-validated.

Hidden states and words are two kernels. For a few mixtures of both and a few strengths a ridge
regression onto the labels predicts every row from the others; a small logistic regression then
weighs those predictions against the checkpoint's own answer. Candidates are averaged by how well
they predict rows held out; to learn nothing is as likely beforehand as all others together. A
choice's options lend their own texts as rows. Independent of engines and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.heads import Head, standard
from thisthat.decide.words import word_counts
from thisthat.engine.features import READOUTS
from thisthat.questions import Question
from thisthat.teach.collect import Again, Collected
from thisthat.teach.regression import Floats, Integers, Predicted, Stack, ridge_path, stacked

MIXTURES = (0.1, 0.3, 0.6)
"""Shares of words beside hidden states."""

FOLDS = 5
MOST_BUCKETS = 1 << 14
_MOST_WEIGHTS = 1 << 18
_MOST_ROWS = 1000
_LEAST_WEIGHT = 1e-3
_LEAST_HALF = 10

_MEAN, _SLOT = READOUTS.index("mean"), READOUTS.index("slot")

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class FittedHead:
    """A head, None where nothing was learned, and predictions of rows that it was not fitted on.

    ``before`` and ``after`` are probabilities [rows, options] of the checkpoint and of the head;
    for ``after``, what to learn was chosen without the row as well. ``mixture`` is the share of
    words, ``own`` how much of the checkpoint's own answer stays.
    """

    head: Head | None
    before: Floats
    after: Floats
    mixture: float | None
    own: float


@dataclass(frozen=True)
class _Inputs:
    """Rows as hidden and word features of length 1, and what they were made with.

    After them may stand other readings of some, then the options' own texts.
    """

    hidden: Singles
    words: Singles
    centre: Singles
    spread: Singles
    rarity: NDArray[np.float16]
    readouts: tuple[int, ...]

    @property
    def some(self) -> Integers:
        """Rows that components are made of."""
        return np.arange(len(self.hidden))[:: -(-len(self.hidden) // _MOST_ROWS)]


@dataclass(frozen=True)
class _Candidate:
    """A way to learn: what it predicts of rows held out, and what it comes to on all rows."""

    mixture: float
    turned: Floats
    predicted: Predicted
    stack: Stack
    held_out: Floats


def design_of(question: Question) -> Floats:
    """How options share: each for itself, or, for the levels of a score, by their place."""
    count = len(question.declared)
    if question.kind != "score":
        return np.eye(count)
    levels = count - (question.abstain is not None)
    place = np.linspace(-1, 1, levels)
    columns = np.zeros((count, 1 if levels == count else 2))
    columns[:levels, 0] = place
    if levels < count:
        columns[-1, 1] = 1
    return columns


def readouts_of(question: Question) -> tuple[int, ...]:
    """What a head reads of hidden states: the state's mean and the slot where it is answered.

    A choice's slot tells of the order of its options too, which its head must not depend on.
    """
    return (_MEAN,) if question.kind == "choice" else (_MEAN, _SLOT)


def buckets_for(options: int) -> int:
    """Buckets of words: as many as keep a head small."""
    fitting = max(_MOST_WEIGHTS // options, 1024)
    return min(MOST_BUCKETS, 1 << (fitting.bit_length() - 1))


def fit_head(
    question: Question,
    collected: Collected,
    labels: Integers,
    progress: Callable[[float], None] = lambda share: None,
    shown: Collected | None = None,
    again: Again | None = None,
) -> FittedHead:
    """The head that labels support; ``progress`` is told the share of the work that is done.

    ``shown`` is what the checkpoint makes of the options' own texts, in order; ``again`` are other
    readings of some rows, which teach and are not judged.
    """
    design = design_of(question)
    inputs = _inputs(collected, again, shown, buckets_for(len(design)), readouts_of(question))
    twice = np.zeros(0, np.int64) if again is None else again.rows
    folds = folds_of(labels)
    logs = collected.logs
    nobody = Predicted(
        np.zeros((len(logs), 0)), np.zeros((0, design.shape[1])), np.zeros(design.shape[1])
    )
    # Besides learning nothing: no guesses, but a scale and a bias of the checkpoint's own answer.
    tried = [
        _candidate(0.0, np.zeros((len(inputs.some), 0)), nobody, 0 * logs, logs, labels, folds)
    ]
    for number, mixture in enumerate(MIXTURES):
        tried += _candidates(inputs, mixture, logs, labels, folds, design, twice)
        progress((number + 1) / (len(MIXTURES) + 1))
    held_out = np.array([log_softmax(logs), *(each.held_out for each in tried)])
    gains = np.take_along_axis(held_out, labels[None, :, None], axis=2)[:, :, 0]
    after = np.empty_like(logs)
    for fold in range(FOLDS):
        own = folds == fold
        weights = _weights(gains[:, ~own])
        after[own] = np.exp(log_softmax(np.tensordot(weights, held_out[:, own], 1)))
    before = np.exp(log_softmax(logs))
    weights = _weights(gains)
    nothing, kept = float(weights[0]), weights[1:]
    if nothing > 0.5:
        return FittedHead(None, before, after, None, 1.0)
    head = _head(question, collected, inputs, tried, nothing, kept, design)
    progress(1.0)
    words = float(kept @ [each.mixture for each in tried]) / float(kept.sum())
    return FittedHead(head, before, after, words, head.scale)


def taught_logs(head: Head | None, collected: Collected) -> Floats:
    """The logarithms that a head makes of the checkpoint's own, up to a constant of each row."""
    if head is None:
        return collected.logs
    rows = zip(collected.logs, collected.features, collected.texts, strict=True)
    return np.array([logs + head.shift(logs, hidden, text) for logs, hidden, text in rows])


def half_as_many(
    question: Question,
    collected: Collected,
    labels: Integers,
    shown: Collected | None = None,
    again: Again | None = None,
) -> float | None:
    """The share of right answers to each half of the rows, taught with the other.

    None where a half is too small to teach.
    """
    halves = [np.flatnonzero(folds_of(labels, 2) == half) for half in range(2)]
    if min(map(len, halves)) < _LEAST_HALF:
        return None
    hits = 0
    for own, rest in (halves, halves[::-1]):
        twice = None if again is None else again.part(own)
        head = fit_head(question, collected.part(own), labels[own], shown=shown, again=twice).head
        logs = taught_logs(head, collected.part(rest))
        hits += int((logs.argmax(axis=1) == labels[rest]).sum())
    return hits / len(labels)


def folds_of(labels: Integers, count: int = FOLDS) -> Integers:
    """The fold of every row; each label is dealt out evenly."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[order] = np.arange(len(labels)) % count
    return folds


def log_softmax(logits: Floats) -> Floats:
    """Logarithms of the probabilities of every row."""
    moved = logits - logits.max(axis=-1, keepdims=True)
    found: Floats = moved - np.log(np.exp(moved).sum(axis=-1, keepdims=True))
    return found


def _weights(gains: Floats) -> Floats:
    """How much each candidate counts: by its likelihood on rows [candidates, rows] held out.

    The first, to learn nothing, has half of the weight before any row is seen.
    """
    total = gains.sum(axis=1)
    total[0] += np.log(len(total) - 1)
    weights = np.exp(total - total.max())
    weights[weights < _LEAST_WEIGHT] = 0
    found: Floats = weights / weights.sum()
    return found


def _candidates(
    inputs: _Inputs,
    mixture: float,
    logs: Floats,
    labels: Integers,
    folds: Integers,
    design: Floats,
    twice: Integers,
) -> Iterator[_Candidate]:
    """One for every strength, with and without the options' own texts."""
    rows, read = len(labels), len(labels) + len(twice)
    components, turned = _components(inputs, mixture)
    targets = design[np.concatenate([labels, labels[twice]])]
    pairs = twice, np.arange(rows, read)
    paths = [ridge_path(components[:read], targets, pairs)]
    if len(components) > read:
        paths.append(ridge_path(components, np.concatenate([targets, design]), pairs))
    for predicted in chain(*paths):
        guesses = predicted.others[:rows] @ design.T
        yield _candidate(mixture, turned, predicted, guesses, logs, labels, folds)


def _candidate(
    mixture: float,
    turned: Floats,
    predicted: Predicted,
    guesses: Floats,
    logs: Floats,
    labels: Integers,
    folds: Integers,
) -> _Candidate:
    held_out = np.empty_like(logs)
    for fold in range(FOLDS):
        own = folds == fold
        found = stacked(guesses[~own], logs[~own], labels[~own])
        held_out[own] = log_softmax(found.logits(guesses[own], logs[own]))
    return _Candidate(mixture, turned, predicted, stacked(guesses, logs, labels), held_out)


def _head(
    question: Question,
    collected: Collected,
    inputs: _Inputs,
    tried: list[_Candidate],
    nothing: float,
    kept: Floats,
    design: Floats,
) -> Head:
    """The candidates' average: linear in the same inputs as each of them."""
    some = inputs.some
    scale, bias = nothing, np.zeros(len(design))
    hidden, words = np.zeros((2, len(some), len(design)))
    for share, each in zip(kept, tried, strict=True):
        if not share:
            continue
        part = share * each.stack.guess
        of_rows = part * (each.turned @ (each.predicted.weights @ design.T))
        hidden += (1 - each.mixture) * of_rows
        words += each.mixture * of_rows
        bias += share * each.stack.bias + part * (each.predicted.bias @ design.T)
        scale += share * each.stack.own
    return Head(
        names=tuple(option.name for option in question.declared),
        layers=collected.layers,
        readouts=inputs.readouts,
        scale=scale,
        bias=bias.astype(np.float32),
        centre=inputs.centre,
        spread=inputs.spread,
        weights=_halves(inputs.hidden[some].T @ hidden, len(design)),
        rarity=inputs.rarity,
        word_weights=_halves(inputs.words[some].T @ words, len(design)),
    )


def _inputs(
    collected: Collected,
    again: Again | None,
    shown: Collected | None,
    buckets: int,
    readouts: tuple[int, ...],
) -> _Inputs:
    """Features of rows, standardised by them and by their other readings."""
    chosen = collected.features[:, :, readouts]
    if again is not None:
        chosen = np.concatenate([chosen, again.collected.features[:, :, readouts]])
    flat = chosen.reshape(len(chosen), -1)
    centre, spread = flat.mean(axis=0), flat.std(axis=0)
    # What hardly varies among these rows may vary among others.
    spread = np.sqrt(spread**2 + (0.1 * np.median(spread)) ** 2 + 1e-12)
    counts = [word_counts(text, buckets) for text in collected.texts]
    seen = np.zeros(buckets)
    for places, _ in counts:
        seen[places] += 1
    rarity = (np.log((1 + len(counts)) / (1 + seen)) + 1).astype(np.float16)
    if again is not None:
        counts += [counts[row] for row in again.rows]
    if shown is not None:
        chosen = np.concatenate([chosen, shown.features[:, :, readouts]])
        counts += [word_counts(text, buckets) for text in shown.texts]
    words = np.zeros((len(counts), buckets), np.float32)
    for row, (places, found) in zip(words, counts, strict=True):
        row[places] = found * rarity[places]
        row /= float(np.linalg.norm(row)) or 1.0
    return _Inputs(standard(chosen, centre, spread), words, centre, spread, rarity, readouts)


def _components(inputs: _Inputs, mixture: float) -> tuple[Floats, Floats]:
    """Rows in the principal components of a mixture, and the components in terms of some rows.

    A ridge on components is one on the inputs themselves; the components span at most so many rows.
    """
    some = inputs.some
    whole = (1 - mixture) * (inputs.hidden @ inputs.hidden[some].T).astype(np.float64)
    whole += mixture * (inputs.words @ inputs.words[some].T)
    sizes, vectors = np.linalg.eigh(whole[some])
    kept = sizes > 1e-6 * sizes[-1]
    turned = vectors[:, kept] / np.sqrt(sizes[kept])
    return whole @ turned, turned


def _halves(weights: Floats, options: int) -> NDArray[np.float16]:
    """Weights [inputs, options] as a head holds them."""
    return np.ascontiguousarray(weights.T.reshape(options, -1)).astype(np.float16)
