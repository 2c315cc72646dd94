"""A head for one question, fitted on labelled states; how much to learn is cross-validated.

Hidden states and words are two kernels; the candidates are a few mixtures of both at a few
strengths, and learning nothing. The one whose predictions of held-out rows are best is fitted on
all rows, and its temperature on those predictions. Independent of engines and files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thisthat.decide.heads import Head, standard
from thisthat.decide.words import word_counts
from thisthat.engine.features import READOUTS
from thisthat.questions import Question
from thisthat.teach.collect import Collected
from thisthat.teach.logistic import Coefficients, Floats, Integers, fit, nothing

MIXTURES = (0.25, 0.5, 0.75)
"""Shares of words beside hidden states."""

RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
"""Strengths of the pull back to the checkpoint's own answer, the strongest first."""

FOLDS = 5
READ = (READOUTS.index("mean"),)
MOST_BUCKETS = 1 << 14
_MOST_WEIGHTS = 1 << 18
_MOST_ROWS = 1000
_TEMPERATURES = 2.0 ** (np.arange(-8, 17) / 8)

Singles = NDArray[np.float32]


@dataclass(frozen=True)
class FittedHead:
    """A head, None where nothing was learned, and predictions of rows that it was not fitted on.

    ``before`` and ``after`` are probabilities [rows, options] of the checkpoint and of the head;
    for ``after``, what to learn was chosen without the row as well.
    """

    head: Head | None
    before: Floats
    after: Floats
    mixture: float | None
    ridge: float | None
    temperature: float


@dataclass(frozen=True)
class _Inputs:
    """Rows as hidden and word features of length 1, and what they were made with."""

    hidden: Singles
    words: Singles
    centre: Singles
    spread: Singles
    rarity: NDArray[np.float16]


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


def buckets_for(options: int) -> int:
    """Buckets of words: as many as keep a head small."""
    fitting = max(_MOST_WEIGHTS // options, 1024)
    return min(MOST_BUCKETS, 1 << (fitting.bit_length() - 1))


def fit_head(
    question: Question,
    collected: Collected,
    labels: Integers,
    progress: Callable[[float], None] = lambda share: None,
) -> FittedHead:
    """The head that labels support; ``progress`` is told the share of the work that is done."""
    design = design_of(question)
    inputs = _inputs(collected, buckets_for(len(design)))
    folds = folds_of(labels)
    tried: list[tuple[float | None, float | None, Floats]] = [(None, None, collected.logs)]
    for number, mixture in enumerate(MIXTURES):
        components = _components(inputs, mixture)[0]
        held_out = np.empty((len(RIDGES), *collected.logs.shape))
        for fold in range(FOLDS):
            own, others = folds == fold, folds != fold
            path = _path(collected.logs[others], components[others], labels[others], design)
            for place, found in enumerate(path):
                held_out[place, own] = found.logits(collected.logs[own], components[own], design)
            progress((number + (fold + 1) / FOLDS) / (len(MIXTURES) + 1))
        tried += [(mixture, ridge, held_out[place]) for place, ridge in enumerate(RIDGES)]
    losses = np.array([_losses(logits, labels) for _, _, logits in tried])
    # The checkpoint's own answer has no temperature to choose.
    losses[0] = losses[0, list(_TEMPERATURES).index(1.0)]
    after = np.empty_like(collected.logs)
    for fold in range(FOLDS):
        own = folds == fold
        place, heat = _least(losses[:, :, ~own])
        after[own] = np.exp(log_softmax(tried[place][2][own] / heat))
    place, temperature = _least(losses)
    best, ridge, _ = tried[place]
    before = np.exp(log_softmax(collected.logs))
    if best is None or ridge is None:
        return FittedHead(None, before, after, None, None, 1.0)
    components, hidden_basis, word_basis = _components(inputs, best)
    found = nothing(components.shape[1], design)
    for strength in RIDGES[: RIDGES.index(ridge) + 1]:
        found = fit(collected.logs, components, labels, design, strength, found)
    progress(1.0)
    shared = (found.weights @ design.T) / temperature
    head = Head(
        names=tuple(option.name for option in question.declared),
        layers=collected.layers if hidden_basis.size else (),
        readouts=READ,
        scale=found.scale / temperature,
        bias=(found.bias / temperature).astype(np.float32),
        centre=inputs.centre if hidden_basis.size else np.empty(0, np.float32),
        spread=inputs.spread if hidden_basis.size else np.empty(0, np.float32),
        weights=_halves(hidden_basis @ shared, len(design)),
        rarity=inputs.rarity if word_basis.size else np.empty(0, np.float16),
        word_weights=_halves(word_basis @ shared, len(design)),
    )
    return FittedHead(head, before, after, best, ridge, temperature)


def folds_of(labels: Integers) -> Integers:
    """The fold of every row; each label is dealt out evenly."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[order] = np.arange(len(labels)) % FOLDS
    return folds


def log_softmax(logits: Floats) -> Floats:
    """Logarithms of the probabilities of every row."""
    moved = logits - logits.max(axis=1, keepdims=True)
    found: Floats = moved - np.log(np.exp(moved).sum(axis=1, keepdims=True))
    return found


def _path(
    logs: Floats, components: Floats, labels: Integers, design: Floats
) -> Iterator[Coefficients]:
    """Fits at every strength, each begun where the stronger one ended."""
    found = nothing(components.shape[1], design)
    for ridge in RIDGES:
        found = fit(logs, components, labels, design, ridge, found)
        yield found


def _losses(logits: Floats, labels: Integers) -> Floats:
    """The loss of every row at each temperature."""
    rows = np.arange(len(labels))
    return np.array([-log_softmax(logits / heat)[rows, labels] for heat in _TEMPERATURES])


def _least(losses: Floats) -> tuple[int, float]:
    """The candidate and temperature with the least mean loss of [candidates, temperatures, rows].

    Of equal ones the first: learning nothing.
    """
    place, heat = divmod(int(losses.mean(axis=2).argmin()), len(_TEMPERATURES))
    return place, float(_TEMPERATURES[heat])


def _inputs(collected: Collected, buckets: int) -> _Inputs:
    chosen = collected.features[:, :, READ]
    flat = chosen.reshape(len(chosen), -1)
    centre, spread = flat.mean(axis=0), flat.std(axis=0)
    # What hardly varies among these rows may vary among others.
    spread = np.sqrt(spread**2 + (0.1 * np.median(spread)) ** 2 + 1e-12)
    counts = [word_counts(text, buckets) for text in collected.texts]
    seen = np.zeros(buckets)
    for each in counts:
        seen[list(each)] += 1
    rarity = (np.log((1 + len(counts)) / (1 + seen)) + 1).astype(np.float16)
    words = np.zeros((len(counts), buckets), np.float32)
    for row, each in zip(words, counts, strict=True):
        places = list(each)
        row[places] = np.array(list(each.values()), np.float32) * rarity[places]
        row /= float(np.linalg.norm(row)) or 1.0
    return _Inputs(standard(chosen, centre, spread), words, centre, spread, rarity)


def _components(inputs: _Inputs, mixture: float) -> tuple[Floats, Floats, Floats]:
    """Rows in the principal components of a mixture, and what hidden states and words add to each.

    A ridge on components is one on the inputs themselves; the components span at most so many rows.
    """
    share = (np.sqrt(1 - mixture), np.sqrt(mixture))
    parts = [part * each for part, each in zip((inputs.hidden, inputs.words), share, strict=True)]
    some = np.arange(len(inputs.hidden))[:: -(-len(inputs.hidden) // _MOST_ROWS)]
    kernel = sum((part[some] @ part[some].T).astype(np.float64) for part in parts)
    sizes, vectors = np.linalg.eigh(kernel)
    kept = sizes > 1e-6 * sizes[-1]
    turned = vectors[:, kept] / np.sqrt(sizes[kept])
    bases = [
        part[some].T.astype(np.float64) @ turned * each if each else np.empty((0, turned.shape[1]))
        for part, each in zip(parts, share, strict=True)
    ]
    whole = sum(part @ (part[some].T @ turned) for part in parts)
    return np.asarray(whole), bases[0], bases[1]


def _halves(weights: Floats, options: int) -> NDArray[np.float16]:
    """Weights [inputs, options] as a head holds them."""
    return np.ascontiguousarray(weights.T.reshape(options, -1)).astype(np.float16)
