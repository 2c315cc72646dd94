from __future__ import annotations

from itertools import combinations

import pytest

from thisthat.rng import Rng
from thisthat_lab.worlds.actuator import (
    EVALUATION_RELIABILITIES,
    collision_free_probability,
    execute,
)
from thisthat_lab.worlds.grid import DIRECTIONS


def test_q_is_the_frequency_of_safe_moves() -> None:
    rng = Rng("actuator")
    for reliability in EVALUATION_RELIABILITIES:
        moves = [execute(reliability, "east", rng) for _ in range(20_000)]
        for safe in (("east",), ("north",), ("north", "east", "west"), ()):
            frequency = sum(move in safe for move in moves) / len(moves)
            q = collision_free_probability(reliability, "east", safe)
            assert frequency == pytest.approx(q, abs=0.015)


def test_q_by_hand() -> None:
    assert collision_free_probability(0.7, "north", DIRECTIONS) == pytest.approx(1)
    assert collision_free_probability(0.7, "north", ["north"]) == pytest.approx(0.7)
    assert collision_free_probability(0.7, "north", ["east", "west"]) == pytest.approx(0.2)
    for safe in combinations(DIRECTIONS, 2):
        total = sum(collision_free_probability(0.25, d, safe) for d in DIRECTIONS)
        assert total == pytest.approx(2)
