"""Bets are fair under the null, win against it, and intervals hold the mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat.loop.betting import FRACTIONS, BettingTest, e_values, interval


def streams(mean: float, count: int, length: int, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((count, length)) < mean).astype(float) - 0.5


def test_looking_after_every_observation_keeps_the_level() -> None:
    values = streams(0.5, 1500, 400, seed=1)
    wealth = e_values(values, np.full_like(values, -0.5))
    assert (wealth.max(axis=1) >= 20).mean() <= 0.05
    assert wealth[:, -1].mean() == pytest.approx(1.0, abs=0.35)


def test_a_mean_above_zero_is_found() -> None:
    values = streams(0.65, 200, 600, seed=2)
    assert (e_values(values, np.full_like(values, -0.5)).max(axis=1) >= 20).mean() > 0.95


@given(st.lists(st.floats(-0.5, 2.0), min_size=1, max_size=30))
def test_one_at_a_time_is_the_same_as_all_at_once(values: list[float]) -> None:
    test = BettingTest()
    apart = [test.add(value, -0.5) for value in values]
    together = e_values(np.array(values), np.full(len(values), -0.5))
    assert apart == pytest.approx(together.tolist(), rel=1e-9)
    assert test.highest == pytest.approx(max(1.0, *apart))


@given(st.floats(0.05, 0.95))
def test_a_fair_bet_keeps_its_stake_on_average(chance: float) -> None:
    won, lost = 1.0, -chance / (1 - chance)
    after = [
        np.exp(np.log1p(FRACTIONS * value / -lost)) * share
        for value, share in ((won, chance), (lost, 1 - chance))
    ]
    assert sum(after) == pytest.approx(np.ones(len(FRACTIONS)))


def test_intervals_hold_the_mean_and_shrink() -> None:
    rng = np.random.default_rng(3)
    held, widths = 0, []
    for _ in range(100):
        low, high = interval(rng.beta(2, 5, 300), 0.0, 1.0)
        held += low <= 2 / 7 <= high
        widths.append(high - low)
    assert held >= 0.93 * 100
    low, high = interval(rng.beta(2, 5, 6000), 0.0, 1.0)
    assert high - low < 0.4 * float(np.mean(widths))


def test_nothing_seen_gives_the_whole_range() -> None:
    assert interval([], -1.0, 2.0) == (-1.0, 2.0)


@pytest.mark.parametrize("values", [[0.0, 1.5], [-0.1]])
def test_values_outside_the_bounds_are_refused(values: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        interval(values, 0.0, 1.0)


def test_an_observation_below_its_bound_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="cannot be bet on"):
        BettingTest().add(-1.0, -0.5)
