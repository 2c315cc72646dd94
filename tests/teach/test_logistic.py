import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.teach.logistic import Coefficients, fit, loss_and_slope, nothing


def problem(seed: int, rows: int = 30, inputs: int = 4, options: int = 3) -> tuple:
    random = np.random.default_rng(seed)
    design = np.eye(options) if seed % 2 else np.linspace(-1, 1, options)[:, None]
    offset = random.standard_normal((rows, options))
    given = random.standard_normal((rows, inputs))
    return offset, given, random.integers(0, options, rows), design


def flat(given: Coefficients) -> np.ndarray:
    return np.concatenate([[given.scale], given.bias, given.weights.ravel()])


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), ridge=st.floats(0.01, 10))
def test_the_gradient_is_that_of_the_loss(seed: int, ridge: float) -> None:
    data = problem(seed)
    random = np.random.default_rng(seed + 1)
    inputs, options, columns = data[1].shape[1], len(data[3]), data[3].shape[1]
    at = Coefficients(
        float(random.uniform(0, 2)),
        random.standard_normal(options),
        random.standard_normal((inputs, columns)),
    )
    move = Coefficients(
        float(random.standard_normal()),
        random.standard_normal(options),
        random.standard_normal((inputs, columns)),
    )

    def loss(step: float) -> float:
        there = Coefficients(
            at.scale + step * move.scale,
            at.bias + step * move.bias,
            at.weights + step * move.weights,
        )
        return loss_and_slope(*data, ridge, there)[0]

    along = (loss(1e-5) - loss(-1e-5)) / 2e-5
    slope = flat(loss_and_slope(*data, ridge, at)[1])
    assert along == pytest.approx(float(slope @ flat(move)), rel=1e-5, abs=1e-4)


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_without_rows_nothing_is_learned(seed: int) -> None:
    offset, inputs, labels, design = problem(seed)
    found = fit(offset[:0], inputs[:0], labels[:0], design, 0.1)
    assert np.array_equal(flat(found), flat(nothing(inputs.shape[1], design)))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_a_stronger_ridge_learns_less_and_an_endless_one_nothing(seed: int) -> None:
    data = problem(seed)
    sizes = [float(np.abs(fit(*data, ridge).weights).max()) for ridge in (0.1, 10, 1e7)]
    assert sizes[0] > sizes[1] > sizes[2]
    assert sizes[2] < 1e-4


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), ridge=st.sampled_from([0.03, 1.0]))
def test_the_fit_is_a_minimum_wherever_the_search_begins(seed: int, ridge: float) -> None:
    data = problem(seed)
    found = fit(*data, ridge)
    least, slope = loss_and_slope(*data, ridge, found)
    begun = fit(*data, ridge, fit(*data, 5 * ridge))
    assert np.abs(flat(slope)).max() < 0.1
    assert loss_and_slope(*data, ridge, begun)[0] == pytest.approx(least, abs=0.01)


def test_a_model_that_is_right_but_unsure_is_made_surer() -> None:
    labels = np.array([0, 1] * 50)
    offset = np.where(np.eye(2)[labels] > 0, -0.6, -0.8)
    found = fit(offset, np.zeros((100, 1)), labels, np.eye(2), 1.0)
    assert found.scale > 3


def test_levels_share_one_direction() -> None:
    random = np.random.default_rng(0)
    hidden = random.standard_normal((300, 1))
    labels = np.digitize(hidden[:, 0], [-0.7, 0.7])
    design = np.linspace(-1, 1, 3)[:, None]
    found = fit(np.zeros((300, 3)), hidden, labels, design, 0.1)
    right = found.logits(np.zeros((300, 3)), hidden, design).argmax(axis=1) == labels
    assert found.weights.shape == (1, 1)
    assert right.mean() > 0.95
