"""Logistic regression on top of what a model already says, with a ridge that pulls back to it.

Row n's logits are ``scale * offset[n] + bias + (inputs[n] @ weights) @ design.T``. The penalty is
zero where scale is 1 and everything else 0: with few rows, or a strong ridge, the fit is the model
itself. ``design`` says how options share: the identity for a choice, their levels for a score.
Knows arrays alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BIAS_RIDGE = 0.3
"""Of a bias, in which one unit is one nat; of the scale's logarithm ten times as much."""

_MEMORY = 8
_MOST_STEPS = 60
_SMALL = 1e-4


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What is added to a model's logits; ``NOTHING`` of its sizes adds nothing."""

    scale: float
    bias: Floats
    weights: Floats

    def logits(self, offset: Floats, inputs: Floats, design: Floats) -> Floats:
        """The logits of rows."""
        found: Floats = self.scale * offset + self.bias + (inputs @ self.weights) @ design.T
        return found


def nothing(inputs: int, design: Floats) -> Coefficients:
    """Coefficients that leave the model's own logits as they are."""
    return Coefficients(1.0, np.zeros(len(design)), np.zeros((inputs, design.shape[1])))


def fit(
    offset: Floats,
    inputs: Floats,
    labels: Integers,
    design: Floats,
    ridge: float,
    start: Coefficients | None = None,
) -> Coefficients:
    """The coefficients with the least penalised loss, searched from ``start``."""
    shape = (inputs.shape[1], design.shape[1])
    options = len(design)

    def unpacked(point: Floats) -> Coefficients:
        return Coefficients(
            float(point[0]), point[1 : 1 + options], point[1 + options :].reshape(shape)
        )

    def evaluated(point: Floats) -> tuple[float, Floats]:
        loss, slope = loss_and_slope(offset, inputs, labels, design, ridge, unpacked(point))
        return loss, _flat(slope)

    first = start or nothing(shape[0], design)
    return unpacked(_least(evaluated, _flat(first)))


def loss_and_slope(
    offset: Floats,
    inputs: Floats,
    labels: Integers,
    design: Floats,
    ridge: float,
    at: Coefficients,
) -> tuple[float, Coefficients]:
    """The penalised loss of all rows, and its gradient in the shape of the coefficients."""
    logits = at.logits(offset, inputs, design)
    logits -= logits.max(axis=1, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float((np.log(total[:, 0]) - logits[rows, labels]).sum())
    error = weights / total
    error[rows, labels] -= 1
    held = 10 * BIAS_RIDGE
    loss += 0.5 * (
        ridge * float((at.weights**2).sum())
        + BIAS_RIDGE * float((at.bias**2).sum())
        + held * (at.scale - 1) ** 2
    )
    slope = Coefficients(
        float((error * offset).sum()) + held * (at.scale - 1),
        error.sum(axis=0) + BIAS_RIDGE * at.bias,
        inputs.T @ (error @ design) + ridge * at.weights,
    )
    return loss, slope


def _flat(given: Coefficients) -> Floats:
    return np.concatenate([[given.scale], given.bias, given.weights.ravel()])


def _least(evaluated: Callable[[Floats], tuple[float, Floats]], point: Floats) -> Floats:
    """The minimum of a smooth convex function: L-BFGS with a backtracking line search."""
    loss, slope = evaluated(point)
    pairs: list[tuple[Floats, Floats, float]] = []
    for _ in range(_MOST_STEPS):
        direction = -_scaled(slope, pairs)
        along = float(direction @ slope)
        if along > -_SMALL * max(1.0, abs(loss)) * 1e-3:
            break
        step = 1.0 if pairs else min(1.0, 1 / float(np.linalg.norm(slope)))
        while True:
            moved = point + step * direction
            lower, other = evaluated(moved)
            if lower <= loss + 1e-4 * step * along or step < 1e-10:
                break
            step /= 2
        change, turn = moved - point, other - slope
        curve = float(change @ turn)
        if curve > 1e-12:
            pairs = [*pairs[1 - _MEMORY :], (change, turn, 1 / curve)]
        done = loss - lower < _SMALL * 1e-3 * max(1.0, abs(loss))
        point, loss, slope = moved, lower, other
        if done:
            break
    return point


def _scaled(slope: Floats, pairs: list[tuple[Floats, Floats, float]]) -> Floats:
    """The gradient times an estimate of the inverse curvature."""
    found = slope.copy()
    shares = []
    for change, turn, inverse in reversed(pairs):
        share = inverse * float(change @ found)
        shares.append(share)
        found -= share * turn
    if pairs:
        change, turn, inverse = pairs[-1]
        found /= inverse * float(turn @ turn)
    for (change, turn, inverse), share in zip(pairs, reversed(shares), strict=True):
        found += (share - inverse * float(turn @ found)) * change
    return found
