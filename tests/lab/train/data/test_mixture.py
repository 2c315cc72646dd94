from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat_lab.train.data.mixture import Mixture, epoch_order, quotas


@settings(deadline=None, max_examples=50)
@given(weights=st.lists(st.floats(0.01, 100), min_size=1, max_size=30), seed=st.integers(0, 99))
def test_every_stratum_gets_its_share_in_order(weights: list[float], seed: int) -> None:
    mixture = Mixture(weights, seed, period=512)
    period = len(mixture.pattern)
    positions: dict[int, list[int]] = {}
    for row in range(2 * period):
        stratum, position = mixture.at(row)
        positions.setdefault(stratum, []).append(position)
    assert set(positions) == set(range(len(weights)))
    for stratum, found in positions.items():
        assert found == list(range(len(found)))
        share = weights[stratum] / sum(weights)
        assert len(found) / (2 * period) == pytest.approx(share, abs=(len(weights) + 1) / 512)


@settings(deadline=None, max_examples=20)
@given(count=st.integers(1, 600), seed=st.integers(0, 99))
def test_an_epoch_visits_everything_once(count: int, seed: int) -> None:
    first = [epoch_order(count, position, seed) for position in range(count)]
    assert sorted(index for _, index in first) == list(range(count))
    assert {epoch for epoch, _ in first} == {0}
    assert epoch_order(count, count, seed)[0] == 1


def test_epochs_have_orders_of_their_own() -> None:
    orders = [[epoch_order(500, e * 500 + i, 3)[1] for i in range(500)] for e in range(3)]
    assert orders[0] != orders[1] != orders[2]
    # Random enough that neighbours in the file are not neighbours in the order.
    steps = np.abs(np.diff(orders[0]))
    assert 120 < steps.mean() < 210


def test_shares_are_whole_and_nothing_is_forgotten() -> None:
    assert quotas([1, 1, 2], 8).tolist() == [2, 2, 4]
    assert quotas([1, 1e-9], 100).tolist() == [100, 1]
    assert quotas([1, 0], 10).tolist() == [10, 0]
    with pytest.raises(InvalidInputError, match="sum to 0"):
        Mixture([0.0], 0)
