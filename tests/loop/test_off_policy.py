"""Estimates from logged chances are right on average, and their intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

from thisthat.errors import InvalidInputError
from thisthat.loop.off_policy import Logged, doubly_robust, effective_rows, ips, snips
from thisthat.loop.replay import paired

LEAST = 0.1


def logged(rows: int, rng: np.random.Generator) -> tuple[Logged, float]:
    """Two actions, the better one depends on x; logging takes the first nine times in ten."""
    x = rng.random(rows)
    reward_of = np.stack([0.2 + 0.6 * x, 0.8 - 0.6 * x], axis=1)
    chance = np.tile([1 - LEAST, LEAST], (rows, 1))
    action = (rng.random(rows) < LEAST).astype(int)
    wanted = np.where(x > 0.5, 0, 1)
    at = np.arange(rows)
    reward = (rng.random(rows) < reward_of[at, action]).astype(float)
    model = 0.1 + 0.8 * reward_of
    data = Logged(
        chance[at, action],
        (action == wanted).astype(float),
        reward,
        model[at, action],
        model[at, wanted],
    )
    return data, 0.65


def test_intervals_hold_the_truth_and_the_model_narrows_them() -> None:
    rng = np.random.default_rng(1)
    held = {"ips": 0, "doubly robust": 0}
    width = dict.fromkeys(held, 0.0)
    estimates = []
    for _ in range(60):
        data, truth = logged(800, rng)
        weighted, robust = ips(data, LEAST), doubly_robust(data, LEAST)
        for estimate in (weighted, robust):
            held[estimate.method] += estimate.low <= truth <= estimate.high
            width[estimate.method] += estimate.high - estimate.low
        estimates.append(
            (ips(data, LEAST).mean, snips(data, LEAST), doubly_robust(data, LEAST).mean)
        )
    assert min(held.values()) >= 55
    assert width["doubly robust"] < width["ips"]
    assert np.mean(estimates, axis=0) == pytest.approx([truth] * 3, abs=0.03)


def test_equal_weights_count_every_row() -> None:
    assert effective_rows(np.full(7, 0.3)) == pytest.approx(7)
    assert effective_rows(np.array([1.0, 0.0, 0.0])) == pytest.approx(1)


def row(**changed: float) -> Logged:
    fields = {"propensity": 0.5, "target": 1.0, "reward": 1.0, "predicted": 0.5, "expected": 0.5}
    return Logged(**{name: np.array([value]) for name, value in (fields | changed).items()})


def test_impossible_rows_are_named() -> None:
    with pytest.raises(InvalidInputError, match="row 1: what was done had chance zero"):
        row(propensity=0.0)
    with pytest.raises(InvalidInputError, match="reward: row 1"):
        row(reward=1.5)
    with pytest.raises(InvalidInputError, match=r"below the 0\.6"):
        ips(row(), 0.6)


def test_paired_replay_holds_the_difference() -> None:
    rng = np.random.default_rng(2)
    before = (rng.random(2000) < 0.7).astype(float)
    after = np.maximum(before, rng.random(2000) < 0.2)
    found = paired(before.tolist(), after.tolist())
    assert found.low > 0
    assert found.low <= found.difference <= found.high
    with pytest.raises(InvalidInputError, match="has 1 rewards"):
        paired([1.0, 0.0], [1.0])
