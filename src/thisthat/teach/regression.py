"""Ridge regression that predicts every row from the others, and what it adds to a model's answer.

Knows arrays alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RIDGES = (30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""Strengths of the ridge, in units of what inputs vary by, the strongest first."""

BIAS_RIDGE, OWN_RIDGE, GUESS_RIDGE = 1.0, 1.0, 0.03
"""Of a bias, in which one unit is one nat, of the scale of a model's logits, and of guesses."""

_MEMORY = 8
_MOST_STEPS = 60
_SMALL = 1e-4


@dataclass(frozen=True, slots=True)
class Predicted:
    """``inputs @ weights + bias``; ``others`` is each row predicted by a fit to all others."""

    others: Floats
    weights: Floats
    bias: Floats


@dataclass(frozen=True, slots=True)
class Stack:
    """Logits as a sum of a model's own, times ``own``, guesses, times ``guess``, and a bias."""

    guess: float
    own: float
    bias: Floats

    def logits(self, guesses: Floats, logs: Floats) -> Floats:
        """The logits of rows."""
        found: Floats = self.guess * guesses + self.own * logs + self.bias
        return found


def ridge_path(
    inputs: Floats, targets: Floats, pairs: tuple[Integers, Integers] | None = None
) -> Iterator[Predicted]:
    """Fits of ``targets`` [rows, columns] at every strength, with an intercept.

    Rows that stand in ``pairs`` are one thing seen twice: each is predicted without the other too.
    """
    rows = len(inputs)
    centre, middle = inputs.mean(axis=0), targets.mean(axis=0)
    moved = inputs - centre
    sizes, axes = np.linalg.eigh(moved.T @ moved)
    kept = sizes > 1e-9 * max(sizes[-1], 1e-30)
    sizes, axes = sizes[kept], axes[:, kept]
    turned = moved @ axes / np.sqrt(sizes)
    along = turned.T @ (targets - middle)
    for strength in RIDGES:
        ridge = strength * sizes.sum() / rows
        share = sizes / (sizes + ridge)
        fitted = middle + turned @ (share[:, None] * along)
        lever = 1 / rows + turned**2 @ share
        missed, free = (targets - fitted), np.maximum(1 - lever, 1e-6)[:, None]
        others = targets - missed / free
        if pairs is not None:
            one, two = pairs
            both = (1 / rows + (turned[one] * turned[two]) @ share)[:, None]
            size = np.maximum(free[one] * free[two] - both**2, 1e-12)
            others[one] = targets[one] - (free[two] * missed[one] + both * missed[two]) / size
            others[two] = targets[two] - (free[one] * missed[two] + both * missed[one]) / size
        weights = axes @ (np.sqrt(sizes)[:, None] * along / (sizes + ridge)[:, None])
        yield Predicted(others, weights, middle - centre @ weights)


def stacked(guesses: Floats, logs: Floats, labels: Integers) -> Stack:
    """How much guesses and the model's own logits count, by penalised likelihood.

    The penalty is zero where the model's logits stay as they are; guesses never count backwards.
    """

    def evaluated(point: Floats) -> tuple[float, Floats]:
        found = Stack(float(point[0]), float(point[1]), point[2:])
        loss, slope = loss_and_slope(guesses, logs, labels, found)
        return loss, np.concatenate([[slope.guess, slope.own], slope.bias])

    point = _least(evaluated, np.concatenate([[0.0, 1.0], np.zeros(logs.shape[1])]))
    if point[0] < 0:
        return stacked(np.zeros_like(guesses), logs, labels)
    return Stack(float(point[0]), float(point[1]), point[2:])


def loss_and_slope(
    guesses: Floats, logs: Floats, labels: Integers, at: Stack
) -> tuple[float, Stack]:
    """The penalised loss of all rows, and its gradient in the shape of the stack."""
    logits = at.logits(guesses, logs)
    logits -= logits.max(axis=1, keepdims=True)
    weights = np.exp(logits)
    total = weights.sum(axis=1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float((np.log(total[:, 0]) - logits[rows, labels]).sum())
    error = weights / total
    error[rows, labels] -= 1
    loss += 0.5 * (BIAS_RIDGE * float((at.bias**2).sum()) + OWN_RIDGE * (at.own - 1) ** 2)
    loss += 0.5 * GUESS_RIDGE * at.guess**2
    slope = Stack(
        float((error * guesses).sum()) + GUESS_RIDGE * at.guess,
        float((error * logs).sum()) + OWN_RIDGE * (at.own - 1),
        error.sum(axis=0) + BIAS_RIDGE * at.bias,
    )
    return loss, slope


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
