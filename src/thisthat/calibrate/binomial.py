"""Exact binomial tails, and the counts they imply."""

from __future__ import annotations

import math

import numpy as np


def lower_tail(successes: int, trials: int, rate: float) -> float:
    """P(X <= successes) for X ~ Binomial(trials, rate): the exact p-value for "the rate is higher".

    As a p-value of the hypothesis that the true rate exceeds ``rate`` it is valid for every
    number of trials (Clopper and Pearson 1934).
    """
    if successes >= trials:
        return 1.0
    if successes < 0:
        return 0.0
    k = np.arange(successes)
    steps = np.log((trials - k) / (k + 1.0)) + math.log(rate) - math.log1p(-rate)
    logs = trials * math.log1p(-rate) + np.concatenate([[0.0], np.cumsum(steps)])
    top = float(logs.max())
    return min(1.0, math.exp(top) * float(np.exp(logs - top).sum()))


def faultless_rows(rate: float, delta: float) -> int:
    """How many faultless rows show, at level ``delta``, that the rate is at most ``rate``."""
    return max(1, math.ceil(math.log(delta) / math.log1p(-rate) - 1e-9))
