"""The noisy actuator: the intended move with probability rho, else one of the others."""

from __future__ import annotations

from collections.abc import Collection

from thisthat.rng import Rng
from thisthat_lab.worlds.grid import DIRECTIONS, Direction

EVALUATION_RELIABILITIES = (0.1, 0.3, 0.7, 0.9)


def collision_free_probability(
    reliability: float, intended: Direction, safe: Collection[Direction]
) -> float:
    """q: the probability that the executed move is one of the ``safe`` ones."""
    others = sum(direction in safe for direction in DIRECTIONS if direction != intended)
    return reliability * (intended in safe) + (1 - reliability) / 3 * others


def execute(reliability: float, intended: Direction, rng: Rng) -> Direction:
    """The move that one attempt actually makes."""
    if rng.chance(reliability):
        return intended
    return rng.choice([direction for direction in DIRECTIONS if direction != intended])
