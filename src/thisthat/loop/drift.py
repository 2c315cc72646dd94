"""Drift as a bet that never ends: do new decisions still look like the first ones?

Each decision is ranked among all before it. If nothing changed, the ranks are independent and
uniform (a conformal test martingale), and a gambler who bets that they are not wins 1/α with
chance α at most, over a stream of any length.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

import numpy as np

from thisthat.rng import Rng

_SHAPES = np.array([-0.9, -0.6, -0.3, 0.3, 0.6, 0.9])
_JUMP = 0.005


class DriftMartingale:
    """Bets on the ranks of a stream; ``reference`` are values from before, in any order."""

    def __init__(self, reference: Iterable[float], seed: int = 0) -> None:
        self._seen = sorted(reference)
        self._rng = Rng("drift", seed)
        self._log = 0.0
        self._shares = np.full(len(_SHAPES), 1.0 / len(_SHAPES))
        self.highest = 1.0

    def add(self, value: float) -> float:
        """Take one value; the wealth after it."""
        below, to = bisect_left(self._seen, value), bisect_right(self._seen, value)
        insort(self._seen, value)
        # Ties are broken by chance, so that the rank is uniform for values that repeat too.
        rank = (below + self._rng.uniform() * (to - below + 1)) / len(self._seen)
        return self._bet(rank)

    def _bet(self, rank: float) -> float:
        """Bet with slopes that lean to low or high ranks, moving a little between them."""
        shares = (1 - _JUMP) * self._shares + _JUMP / len(_SHAPES)
        shares = shares * (1.0 + _SHAPES * (2.0 * rank - 1.0))
        total = float(shares.sum())
        self._shares = shares / total
        self._log += math.log(total)
        wealth = math.exp(min(self._log, 700.0))
        self.highest = max(self.highest, wealth)
        return wealth

    def drifted(self, alpha: float) -> bool:
        """Whether the wealth has ever reached 1/α."""
        return self.highest >= 1.0 / alpha
