"""Recalibration of one question from its labels: temperature, bias, isotonic maps, or none.

The method is chosen by cross-validated negative log-likelihood: a map is used only if, on rows it
was not fitted on, it beats doing nothing by more than two standard errors and every simpler map by
more than one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thisthat.calibrate.fit import Labelled, fit_temperature
from thisthat.calibrate.isotonic import fit_isotonic
from thisthat.decide import recalibration
from thisthat.decide.recalibration import SMALLEST, Floats, Method, MonotoneMap, Recalibration
from thisthat.rng import Rng

LEAST_ROWS = 100
LEAST_ISOTONIC_ROWS = 1000
FOLDS = 5

_STEPS = 100
_RIDGE = 1.0
# Standard errors of the mean gain; folds share rows, so the true errors are a little larger.
_BETTER, _CLEARLY_BETTER = 1.0, 2.0


@dataclass(frozen=True)
class RecalibrationChoice:
    """The chosen map, and each method's cross-validated negative log-likelihood."""

    chosen: Recalibration
    held_out_nll: dict[Method, float]


def choose_recalibration(probabilities: ArrayLike, labels: Sequence[int]) -> RecalibrationChoice:
    """The simplest method whose held-out loss is clearly lower, or none."""
    p, y = np.asarray(probabilities, np.float64), np.asarray(labels)
    nothing = Recalibration()
    if len(y) < LEAST_ROWS or p.shape[1] < 2:
        return RecalibrationChoice(
            nothing, {"none": float(_losses(nothing, p, y).mean())} if len(y) else {}
        )
    losses: dict[Method, Floats] = {"none": _losses(nothing, p, y)}
    fold_of = np.array(Rng("recalibration folds", len(y)).shuffled(range(len(y)))) % FOLDS
    for method in _methods(len(y)):
        held_out = np.empty(len(y))
        for fold in range(FOLDS):
            inside = fold_of != fold
            fitted = _FITTERS[method](p[inside], y[inside])
            held_out[~inside] = _losses(fitted, p[~inside], y[~inside])
        losses[method] = held_out
    best: Method = "none"
    for method in _methods(len(y)):
        better = best == "none" or _gain(losses[best], losses[method]) > _BETTER
        if better and _gain(losses["none"], losses[method]) > _CLEARLY_BETTER:
            best = method
    chosen = nothing if best == "none" else _FITTERS[best](p, y)
    return RecalibrationChoice(
        chosen, {method: float(each.mean()) for method, each in losses.items()}
    )


def _gain(losses: Floats, others: Floats) -> float:
    """How much lower the other losses are, in standard errors of the mean difference."""
    difference = losses - others
    return float(difference.mean() / max(difference.std(ddof=1) / np.sqrt(len(losses)), SMALLEST))


def _methods(rows: int) -> tuple[Method, ...]:
    """The methods that so many rows can fit, simplest first."""
    if rows < LEAST_ISOTONIC_ROWS:
        return ("temperature", "bias")
    return ("temperature", "bias", "isotonic")


def _losses(each: Recalibration, p: Floats, y: NDArray[np.int64]) -> Floats:
    return np.asarray(-np.log(np.maximum(each(p)[np.arange(len(y)), y], SMALLEST)))


def _temperature(p: Floats, y: NDArray[np.int64]) -> Recalibration:
    logs = np.log(np.maximum(p, SMALLEST))
    rows = [Labelled("choice", row, int(label)) for row, label in zip(logs, y, strict=True)]
    return Recalibration("temperature", fit_temperature(rows))


def _bias(p: Floats, y: NDArray[np.int64]) -> Recalibration:
    """A temperature and one bias per option: Newton's method on a penalised likelihood.

    The small penalty on biases keeps options without labels finite.
    """
    logs = np.log(np.maximum(p, SMALLEST))
    count = p.shape[1]
    hit = np.eye(count)[y]
    parameters = np.concatenate([[1.0], np.zeros(count)])  # coldness, biases
    penalty = np.diag([_RIDGE * 1e-3, *[_RIDGE] * count])
    anchor = parameters.copy()
    for _ in range(_STEPS):
        q = recalibration.softmax_rows(parameters[0] * logs + parameters[1:])
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


_FITTERS: dict[Method, Callable[[Floats, NDArray[np.int64]], Recalibration]] = {
    "temperature": _temperature,
    "bias": _bias,
    "isotonic": _isotonic,
}
