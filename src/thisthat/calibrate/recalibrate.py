"""Recalibration of one question from its labels: temperature, bias or isotonic maps, or nothing.

The way is chosen by cross-validated negative log-likelihood: a map is taken only when, on rows it
was not fitted on, it beats doing nothing by more than two standard errors, and every simpler map
by more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thisthat.calibrate.fit import Labelled, fit_temperature
from thisthat.calibrate.isotonic import MonotoneMap, fit_isotonic
from thisthat.rng import Rng

LEAST_ROWS = 100
LEAST_ISOTONIC_ROWS = 1000
FOLDS = 5
Way: TypeAlias = Literal["none", "temperature", "bias", "isotonic"]

_SMALLEST = 1e-12
_STEPS = 100
_RIDGE = 1.0
# Standard errors of the mean gain. Folds share rows, so the errors are a little larger than said.
_BETTER, _CLEARLY_BETTER = 1.0, 2.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Recalibration:
    """A map from one distribution to another over the same options.

    ``temperature`` and ``biases`` act on log probabilities; ``maps`` holds one non-decreasing
    map per option, applied and then normalised.
    """

    way: Way = "none"
    temperature: float = 1.0
    biases: tuple[float, ...] = ()
    maps: tuple[MonotoneMap, ...] = ()

    def __call__(self, probabilities: ArrayLike) -> Floats:
        """The recalibrated distributions, a row each (or one distribution)."""
        p = np.asarray(probabilities, np.float64)
        if self.way == "none":
            return p
        if self.way == "isotonic":
            mapped = np.stack([each(p[..., i]) for i, each in enumerate(self.maps)], axis=-1)
            return np.asarray(mapped / mapped.sum(axis=-1, keepdims=True))
        logits = np.log(np.maximum(p, _SMALLEST)) / self.temperature
        if self.biases:
            logits = logits + np.asarray(self.biases)
        return _softmax(logits)


@dataclass(frozen=True)
class Comparison:
    """The chosen map, and each way's cross-validated negative log-likelihood."""

    chosen: Recalibration
    held_out_nll: dict[Way, float]


def choose_recalibration(probabilities: ArrayLike, labels: Sequence[int]) -> Comparison:
    """The simplest way whose held-out likelihood loss is clearly lower; nothing where none is."""
    p, y = np.asarray(probabilities, np.float64), np.asarray(labels)
    nothing = Recalibration()
    if len(y) < LEAST_ROWS or p.shape[1] < 2:
        return Comparison(nothing, {"none": float(_losses(nothing, p, y).mean())} if len(y) else {})
    losses: dict[Way, Floats] = {"none": _losses(nothing, p, y)}
    fold_of = np.array(Rng("recalibration folds", len(y)).shuffled(range(len(y)))) % FOLDS
    for way in _ways(len(y)):
        held_out = np.empty(len(y))
        for fold in range(FOLDS):
            inside = fold_of != fold
            fitted = _FITTERS[way](p[inside], y[inside])
            held_out[~inside] = _losses(fitted, p[~inside], y[~inside])
        losses[way] = held_out
    best: Way = "none"
    for way in _ways(len(y)):
        better = best == "none" or _gain(losses[best], losses[way]) > _BETTER
        if better and _gain(losses["none"], losses[way]) > _CLEARLY_BETTER:
            best = way
    chosen = nothing if best == "none" else _FITTERS[best](p, y)
    return Comparison(chosen, {way: float(each.mean()) for way, each in losses.items()})


def _gain(losses: Floats, others: Floats) -> float:
    """How much lower the other losses are, in standard errors of the mean difference."""
    difference = losses - others
    return float(difference.mean() / max(difference.std(ddof=1) / np.sqrt(len(losses)), _SMALLEST))


def _ways(rows: int) -> tuple[Way, ...]:
    """What so many rows can fit, the simplest first."""
    if rows < LEAST_ISOTONIC_ROWS:
        return ("temperature", "bias")
    return ("temperature", "bias", "isotonic")


def _losses(each: Recalibration, p: Floats, y: NDArray[np.int64]) -> Floats:
    return np.asarray(-np.log(np.maximum(each(p)[np.arange(len(y)), y], _SMALLEST)))


def _temperature(p: Floats, y: NDArray[np.int64]) -> Recalibration:
    logs = np.log(np.maximum(p, _SMALLEST))
    rows = [Labelled("choice", row, int(label)) for row, label in zip(logs, y, strict=True)]
    return Recalibration("temperature", fit_temperature(rows))


def _bias(p: Floats, y: NDArray[np.int64]) -> Recalibration:
    """A temperature and one bias per option: Newton's method on a penalised likelihood.

    The small penalty on biases keeps options without labels finite.
    """
    logs = np.log(np.maximum(p, _SMALLEST))
    count = p.shape[1]
    hit = np.eye(count)[y]
    parameters = np.concatenate([[1.0], np.zeros(count)])  # coldness, biases
    penalty = np.diag([_RIDGE * 1e-3, *[_RIDGE] * count])
    anchor = parameters.copy()
    for _ in range(_STEPS):
        q = _softmax(parameters[0] * logs + parameters[1:])
        mean = (q * logs).sum(axis=1)
        slope = np.concatenate([[((hit - q) * logs).sum()], (hit - q).sum(axis=0)])
        slope -= penalty @ (parameters - anchor)
        curve = np.empty((count + 1, count + 1))
        curve[0, 0] = ((q * logs**2).sum(axis=1) - mean**2).sum()
        curve[0, 1:] = curve[1:, 0] = (q * (logs - mean[:, None])).sum(axis=0)
        curve[1:, 1:] = np.diag(q.sum(axis=0)) - q.T @ q
        step = np.linalg.solve(curve + penalty, slope)
        largest = float(np.abs(step).max())
        parameters = parameters + step * min(1.0, 1.0 / max(largest, 1e-12))
        parameters[0] = max(parameters[0], 0.05)
        if largest < 1e-9:
            break
    coldness = float(parameters[0])
    return Recalibration("bias", 1 / coldness, tuple(float(b) for b in parameters[1:]))


def _isotonic(p: Floats, y: NDArray[np.int64]) -> Recalibration:
    edge = 1 / (2 * len(y))  # never 0: an option not seen yet may still be right
    maps = []
    for option in range(p.shape[1]):
        fitted = fit_isotonic(p[:, option], (y == option).astype(np.float64))
        maps.append(MonotoneMap(fitted.x, tuple(min(max(v, edge), 1 - edge) for v in fitted.y)))
    return Recalibration("isotonic", maps=tuple(maps))


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


_FITTERS: dict[Way, Callable[[Floats, NDArray[np.int64]], Recalibration]] = {
    "temperature": _temperature,
    "bias": _bias,
    "isotonic": _isotonic,
}
