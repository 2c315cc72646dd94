"""Ridge regression predicts each row from the others exactly; stacking falls back to the model."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.teach.regression import RIDGES, Stack, loss_and_slope, ridge_path, stacked


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_each_row_is_predicted_by_a_fit_to_the_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    inputs, targets = random.standard_normal((12, 4)), random.standard_normal((12, 2))
    spread = ((inputs - inputs.mean(axis=0)) ** 2).sum() / 12
    left_out = 5
    rest = np.arange(12) != left_out
    for strength, found in zip(RIDGES, ridge_path(inputs, targets), strict=True):
        # The same ridge without the row, an intercept among the unknowns.
        wide = np.column_stack([inputs, np.ones(12)])
        ridge = np.diag([strength * spread] * 4 + [0])
        solved = np.linalg.solve(wide[rest].T @ wide[rest] + ridge, wide[rest].T @ targets[rest])
        np.testing.assert_allclose(found.others[left_out], wide[left_out] @ solved, atol=1e-8)
        whole = np.linalg.solve(wide.T @ wide + ridge, wide.T @ targets)
        np.testing.assert_allclose(inputs @ found.weights + found.bias, wide @ whole, atol=1e-8)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_what_is_seen_twice_is_predicted_without_either_sight(seed: int) -> None:
    random = np.random.default_rng(seed)
    inputs, targets = random.standard_normal((14, 4)), random.standard_normal((14, 2))
    targets[[10, 11, 12]] = targets[[2, 5, 7]]
    spread = ((inputs - inputs.mean(axis=0)) ** 2).sum() / 14
    pairs = np.array([2, 5, 7]), np.array([10, 11, 12])
    for strength, found in zip(RIDGES, ridge_path(inputs, targets, pairs), strict=True):
        for left_out in ([5, 11], [7, 12], [3]):
            rest = np.isin(np.arange(14), left_out, invert=True)
            wide = np.column_stack([inputs, np.ones(14)])
            ridge = np.diag([strength * spread] * 4 + [0])
            within = wide[rest]
            solved = np.linalg.solve(within.T @ within + ridge, within.T @ targets[rest])
            np.testing.assert_allclose(found.others[left_out], wide[left_out] @ solved, atol=1e-8)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_the_gradient_is_that_of_the_loss(seed: int) -> None:
    random = np.random.default_rng(seed)
    guesses, logs = random.standard_normal((2, 30, 3))
    labels = random.integers(0, 3, 30)
    at = Stack(float(random.uniform(0, 2)), float(random.uniform(0, 2)), random.standard_normal(3))
    move = random.standard_normal(5)

    def loss(step: float) -> float:
        there = Stack(at.guess + step * move[0], at.own + step * move[1], at.bias + step * move[2:])
        return loss_and_slope(guesses, logs, labels, there)[0]

    along = (loss(1e-5) - loss(-1e-5)) / 2e-5
    slope = loss_and_slope(guesses, logs, labels, at)[1]
    told = slope.guess * move[0] + slope.own * move[1] + slope.bias @ move[2:]
    assert along == pytest.approx(float(told), rel=1e-5, abs=1e-4)


def test_a_model_that_is_right_but_unsure_is_made_surer() -> None:
    labels = np.array([0, 1] * 50)
    logs = np.where(np.eye(2)[labels] > 0, -0.6, -0.8)
    assert stacked(np.zeros((100, 2)), logs, labels).own > 3


def test_guesses_count_where_they_are_right_and_never_backwards() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 100)
    right = np.eye(2)[labels] + 0.2 * random.standard_normal((100, 2))
    logs = np.full((100, 2), -np.log(2))
    assert stacked(right, logs, labels).guess > 2
    assert 0 <= stacked(-right, logs, labels).guess < 0.05
