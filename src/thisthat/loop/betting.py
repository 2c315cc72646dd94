"""Bets against a null hypothesis: evidence that stays valid however often one looks.

A gambler bets on every observation at odds that are fair, or worse than fair, if the null
hypothesis is true. By Ville's inequality the wealth then ever reaches 1/α with probability at most
α, so that a test may stop at any moment. The gambler here spreads one unit over bets of several
sizes, since the best size is not known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError

FRACTIONS = np.geomspace(0.01, 0.9, 14)
"""Shares of what may be staked without risking ruin."""

_BISECTIONS = 30
_LARGEST_LOG = 700.0


class BettingTest:
    """Evidence that observations have a mean above zero, against a mean of zero or less."""

    def __init__(self) -> None:
        self._logs = np.zeros(len(FRACTIONS))
        self.count = 0
        self.highest = 1.0

    @property
    def e_value(self) -> float:
        """The wealth now; its reciprocal bounds the chance of so much under the null."""
        return math.exp(min(_log_mean(self._logs), _LARGEST_LOG))

    def add(self, value: float, lowest: float) -> float:
        """Take one observation that could not have been below ``lowest``; the wealth after it."""
        self._logs += np.log1p(FRACTIONS * (value / _stake(value, lowest)))
        self.count += 1
        wealth = self.e_value
        self.highest = max(self.highest, wealth)
        return wealth

    def rejects(self, alpha: float) -> bool:
        """Whether the wealth has ever reached 1/α."""
        return self.highest >= 1.0 / alpha


def e_values(values: NDArray[np.float64], lowest: NDArray[np.float64]) -> NDArray[np.float64]:
    """The wealth after each observation; along the last axis, many streams at once."""
    if (values < lowest - 1e-12).any() or (lowest >= 0).any():
        raise InvalidInputError("lowest", "must be below zero and below every observation")
    wealth = np.full(values.shape, -math.inf)
    for fraction in FRACTIONS:
        logs = np.cumsum(np.log1p(fraction * values / -lowest), axis=-1)
        wealth = np.logaddexp(wealth, logs)
    return np.asarray(np.exp(np.minimum(wealth - math.log(len(FRACTIONS)), _LARGEST_LOG)))


def interval(
    values: Sequence[float] | NDArray[np.float64], low: float, high: float, alpha: float = 0.05
) -> tuple[float, float]:
    """An interval that holds the mean of values between ``low`` and ``high``, chance 1 - α.

    It makes no assumption beyond the bounds: it is the set of means that bets at level α/2 on
    either side do not reject.
    """
    if not low < high:
        raise InvalidInputError("low", f"must be below high, {low:g} is not below {high:g}")
    drawn = np.asarray(values, dtype=np.float64)
    if len(drawn) == 0:
        return low, high
    if drawn.min() < low or drawn.max() > high:
        raise InvalidInputError("values", f"must lie between {low:g} and {high:g}")
    scaled = (drawn - low) / (high - low)
    lower = _lower_bound(scaled, alpha / 2)
    upper = 1.0 - _lower_bound(1.0 - scaled, alpha / 2)
    return low + (high - low) * lower, low + (high - low) * max(lower, upper)


def _lower_bound(values: NDArray[np.float64], alpha: float) -> float:
    """The largest mean in [0, 1] that bets on a larger one reject."""
    rejected, kept = 0.0, 1.0
    for _ in range(_BISECTIONS):
        mean = (rejected + kept) / 2
        gains = np.multiply.outer(FRACTIONS, (values - mean) / mean)
        if _log_mean(np.log1p(gains).sum(axis=1)) >= -math.log(alpha):
            rejected = mean
        else:
            kept = mean
    return rejected


def _stake(value: float, lowest: float) -> float:
    if not lowest < 0 or value < lowest - 1e-12 or not math.isfinite(value):
        raise InvalidInputError("value", f"{value:g} with the bound {lowest:g} cannot be bet on")
    return -lowest


def _log_mean(logs: NDArray[np.float64]) -> float:
    return float(np.logaddexp.reduce(logs)) - math.log(len(logs))
