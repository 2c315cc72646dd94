"""Which cut-offs are worth testing, and in which order, judging by a few labelled scores.

A bad proposal costs coverage, never validity: other rows test it. Error rates are read off a
logistic curve, shrunk towards what the scores themselves claim, because a few dozen rows hold too
few wrong answers to count.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from thisthat.calibrate.binomial import faultless_rows
from thisthat.decide.target import Target

MOST_CANDIDATES = 200
_BETWEEN = 4
_STEPS = 50
# Of level and slope towards 0 and 1. A scorer that is right far more often than it says must be
# believed after a few dozen rows, so the level is held loosely.
_PULL = (0.03, 1.0)
_SURE = 1e-9

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def proposed(sure: Floats, right: Flags, tested: int, target: Target, delta: float) -> list[float]:
    """Cut-offs in the order in which ``tested`` other rows should test them at level ``delta``.

    For ``precision`` and ``error`` from the one most likely to pass downwards, for ``cost`` from
    the cheapest on. None is below the lowest score.
    """
    order = np.argsort(-sure, kind="stable")
    highest = sure[order]
    wrong = wrong_rates(highest, sure, right)
    places = np.linspace(0, len(sure) - 1, min(MOST_CANDIDATES, _BETWEEN * (len(sure) - 1) + 1))
    numbers = np.arange(len(sure))
    cuts = np.interp(places, numbers, highest)
    acted = places + 0.5
    wrong_acted = np.interp(places, numbers, np.cumsum(wrong) - 0.5 * wrong)
    if target.aim == "cost":
        assert target.fp is not None
        assert target.fn is not None
        right_kept = float((1 - wrong).sum()) - (acted - wrong_acted)
        ranked = np.argsort(target.fp * wrong_acted + target.fn * right_kept, kind="stable")
        return _distinct(cuts[ranked])
    rows = acted * (tested / len(sure))
    return _distinct(cuts[_start(rows, wrong_acted / acted, target.wrong_rate, delta) :])


def wrong_rates(at: Floats, sure: Floats, right: Flags) -> Floats:
    """How often answers with the scores ``at`` are wrong: a logistic curve fitted to the rows."""
    x = np.stack([np.ones(len(sure)), _logit(sure)], axis=1)
    anchor = np.array([0.0, 1.0])
    line, pull = anchor, np.diag(_PULL)
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-(x @ line)))
        slope = x.T @ (right - p) - pull @ (line - anchor)
        curve = x.T @ (x * (p * (1 - p))[:, None]) + pull
        step = np.linalg.solve(curve, slope)
        largest = float(np.abs(step).max())
        line = line + step * min(1.0, 1.0 / max(largest, _SURE))
        if largest < _SURE:
            break
    return np.asarray(1 / (1 + np.exp(line[0] + line[1] * _logit(at))))


def _start(rows: Floats, rates: Floats, limit: float, delta: float) -> int:
    """Where the rows to be tested should speak most clearly against "wrong too often".

    Their log-likelihood ratio is the rows times the divergence of the expected rate from the limit.
    Cut-offs with too few rows to pass even without a fault are skipped if others remain.
    """
    expected = np.clip(rates, _SURE, 1 - _SURE)
    divergence = expected * np.log(expected / limit)
    divergence += (1 - expected) * np.log((1 - expected) / (1 - limit))
    evidence = rows * np.where(expected < limit, divergence, -divergence)
    enough = rows >= faultless_rows(limit, delta)
    if enough.any():
        evidence = np.where(enough, evidence, -math.inf)
    return int(np.argmax(evidence))


def _logit(p: Floats) -> Floats:
    inside = np.clip(p, _SURE, 1 - _SURE)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _distinct(cuts: Floats) -> list[float]:
    """Each cut-off once, at its first position."""
    return list(dict.fromkeys(float(cut) for cut in cuts))
