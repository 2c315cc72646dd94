"""A canary that changes nothing is left alone; one that does harm is rolled back."""

from __future__ import annotations

import numpy as np
import pytest

from thisthat.errors import InvalidInputError
from thisthat.loop.canary import Canary, CanarySettings, evidence


def simulated(
    count: int, length: int, share: float, rewards: tuple[float, float], margin: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    candidate = rng.random((count, length)) < share
    reward = (rng.random((count, length)) < np.where(candidate, rewards[1], rewards[0])) * 1.0
    return evidence(candidate, np.full((count, length), share), reward, margin)


def test_equal_arms_are_rarely_rolled_back_or_called_better() -> None:
    harm, better = simulated(600, 800, 0.2, (0.8, 0.8), 0.0, seed=1)
    assert (harm.max(axis=1) >= 20).mean() <= 0.05
    assert (better.max(axis=1) >= 20).mean() <= 0.05


def test_harm_is_found_and_a_good_candidate_is_let_through() -> None:
    harm, fine = simulated(60, 2500, 0.3, (0.9, 0.75), 0.01, seed=2)
    assert (harm.max(axis=1) >= 20).mean() > 0.95
    assert (fine.max(axis=1) >= 20).mean() <= 0.05
    _, fine = simulated(60, 2500, 0.5, (0.8, 0.9), 0.01, seed=3)
    assert (fine.max(axis=1) >= 20).mean() > 0.95


def test_shares_may_change_between_outcomes() -> None:
    rng = np.random.default_rng(4)
    share = np.tile(np.repeat([0.05, 0.2, 0.5], 300), (400, 1))
    candidate = rng.random(share.shape) < share
    reward = (rng.random(share.shape) < 0.7) * 1.0
    harm, better = evidence(candidate, share, reward, 0.0)
    assert (harm.max(axis=1) >= 20).mean() <= 0.05
    assert (better.max(axis=1) >= 20).mean() <= 0.05


def test_one_outcome_at_a_time_is_the_same_as_all_at_once() -> None:
    rng = np.random.default_rng(5)
    candidate, reward = rng.random(200) < 0.3, rng.random(200)
    canary = Canary(CanarySettings(margin=0.02))
    for arm, each in zip(candidate, reward, strict=True):
        canary.outcome(bool(arm), 0.3, float(each))
    harm, fine = evidence(candidate, np.full(200, 0.3), reward, 0.02)
    assert canary.harm.e_value == pytest.approx(harm[-1])
    assert canary.fine.e_value == pytest.approx(fine[-1])


def test_verdicts_follow_the_outcomes() -> None:
    worse, better, broken = Canary(), Canary(), Canary()
    for place in range(600):
        arm = place % 2 == 0
        worse.outcome(arm, 0.5, 0.0 if arm else 1.0)
        better.outcome(arm, 0.5, 1.0 if arm else 0.0)
        broken.assigned(True, 0.1)
    assert worse.verdict == "roll back"
    assert better.verdict == "not worse"
    assert broken.verdict == "shares broken"
    assert Canary().verdict == "go on"


def test_right_shares_are_not_called_broken() -> None:
    rng = np.random.default_rng(6)
    canary = Canary()
    for _ in range(3000):
        canary.assigned(bool(rng.random() < 0.1), 0.1)
    assert canary.verdict == "go on"


@pytest.mark.parametrize(("share", "reward"), [(0.0, 1.0), (1.0, 1.0), (0.5, 1.5), (0.5, -0.1)])
def test_what_cannot_be_compared_is_refused(share: float, reward: float) -> None:
    with pytest.raises(InvalidInputError):
        Canary().outcome(True, share, reward)
