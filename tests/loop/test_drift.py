"""No drift, no alarm, however long the stream; drift is found."""

from __future__ import annotations

import numpy as np

from thisthat.loop.drift import DriftMartingale


def test_a_stream_without_drift_rarely_alarms() -> None:
    rng = np.random.default_rng(1)
    alarms = 0
    for seed in range(40):
        bets = DriftMartingale(rng.random(100), seed)
        for value in np.round(rng.random(600), 1):
            bets.add(float(value))
        alarms += bets.drifted(0.05)
    assert alarms <= 5


def test_values_that_repeat_are_no_drift() -> None:
    bets = DriftMartingale([1.0] * 50)
    for _ in range(500):
        bets.add(1.0)
    assert not bets.drifted(0.05)


def test_drift_is_found() -> None:
    rng = np.random.default_rng(2)
    bets = DriftMartingale(rng.random(300))
    for value in rng.random(800) ** 2:
        bets.add(float(value))
    assert bets.drifted(0.001)
