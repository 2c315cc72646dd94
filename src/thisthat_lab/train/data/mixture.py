"""Which stratum every training row comes from, and which row of that stratum it is.

The mixture is a fixed pattern repeated for ever: a stratum's share of the pattern is its weight,
and its places in it are random. So row r of a run is a pure function of r: nothing needs to be
remembered to go on from any row, and every stratum gets exactly its share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat.rng import Rng

PERIOD = 16384


class Mixture:
    """A repeating pattern of strata; every stratum with a weight has at least one place in it."""

    def __init__(self, weights: Sequence[float], seed: int, period: int = PERIOD) -> None:
        if not weights or max(weights) <= 0 or min(weights) < 0:
            raise InvalidInputError("sources", "the weights of all sources and strata sum to 0")
        places = quotas(weights, period)
        pattern = np.repeat(np.arange(len(weights)), places)
        order = np.argsort(Rng("mixture", seed).raw_array(len(pattern)), kind="stable")
        self.pattern: NDArray[np.intp] = pattern[order]
        self.places = places
        self._rank = np.empty(len(pattern), dtype=np.int64)
        for stratum in range(len(weights)):
            mine = np.flatnonzero(self.pattern == stratum)
            self._rank[mine] = np.arange(len(mine))

    def at(self, row: int) -> tuple[int, int]:
        """(stratum, position within the stratum) of training row ``row``."""
        turn, place = divmod(row, len(self.pattern))
        stratum = int(self.pattern[place])
        return stratum, turn * int(self.places[stratum]) + int(self._rank[place])


def quotas(weights: Sequence[float], total: int) -> NDArray[np.int64]:
    """Whole shares of ``total`` in proportion to the weights, at least 1 where there is weight."""
    exact = np.asarray(weights, dtype=np.float64) / sum(weights) * total
    shares = np.floor(exact).astype(np.int64)
    short = total - int(shares.sum())
    shares[np.argsort(-(exact - shares), kind="stable")[:short]] += 1
    shares[(shares == 0) & (exact > 0)] = 1
    return shares


def epoch_order(count: int, position: int, *keys: int | str) -> tuple[int, int]:
    """(epoch, index below ``count``) of a position when every epoch has its own random order.

    A Feistel network on the index space gives the order without storing it.
    """
    epoch, index = divmod(position, count)
    half = max(1, ((count - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    rounds = [Rng("order", epoch, number, *keys).raw() for number in range(4)]
    while True:
        left, right = index >> half, index & mask
        for key in rounds:
            mixed = ((right ^ key) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
            left, right = right, left ^ ((mixed ^ (mixed >> 29)) >> 17 & mask)
        index = (left << half) | right
        if index < count:
            return epoch, index
