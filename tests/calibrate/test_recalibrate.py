from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.calibrate.scores import softmax
from thisthat.calibrate.recalibrate import LEAST_ROWS, choose_recalibration
from thisthat.decide.recalibration import Recalibration


def answered(rows: int, distort: object, seed: int) -> tuple[np.ndarray, list[int]]:  # type: ignore[type-arg]
    """Labels follow softmax(z); the scorer says softmax(distort(z))."""
    random = np.random.default_rng(seed)
    z = random.normal(scale=2.0, size=(rows, 3))
    labels = (softmax(z).cumsum(axis=1) > random.random((rows, 1))).argmax(axis=1)
    return softmax(distort(z)), labels.tolist()  # type: ignore[operator]


def nll(p: np.ndarray, y: list[int]) -> float:  # type: ignore[type-arg]
    return float(-np.log(p[np.arange(len(y)), y]).mean())


def test_overconfidence_is_cured_by_a_temperature() -> None:
    p, y = answered(800, lambda z: 3 * z, 1)
    chosen = choose_recalibration(p, y).chosen
    assert chosen.method == "temperature"
    assert chosen.temperature == pytest.approx(3, rel=0.15)


def test_a_favoured_option_is_cured_by_a_bias() -> None:
    favour = np.array([2.0, 0.0, -1.0])
    p, y = answered(900, lambda z: z + favour, 2)
    chosen = choose_recalibration(p, y).chosen
    assert chosen.method == "bias"
    found = np.array(chosen.biases) - chosen.biases[1]
    assert found == pytest.approx(-favour, abs=0.4)


def test_the_bias_fit_is_the_best_one() -> None:
    """An independent optimiser finds no better temperature and biases."""
    p, y = answered(900, lambda z: 2 * z + [1.0, 0.0, 0.0], 3)
    comparison = choose_recalibration(p, y)
    logs = np.log(p)

    def loss(values: np.ndarray) -> float:  # type: ignore[type-arg]
        return nll(softmax(values[0] * logs + np.array([values[1], values[2], 0])), y)

    best = minimize(loss, np.array([1.0, 0.0, 0.0]), method="Nelder-Mead", tol=1e-9).fun
    assert comparison.chosen.method == "bias"
    assert nll(comparison.chosen(p), y) == pytest.approx(best, abs=1e-4)


def test_a_crooked_scale_is_cured_by_isotonic_maps_where_there_are_enough_rows() -> None:
    def crooked(z: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        p = softmax(z)
        return np.log(np.where(p > 0.5, 0.5 + (p - 0.5) * 0.1, p * 0.2) + 0.01)

    p, y = answered(6000, crooked, 4)
    comparison = choose_recalibration(p, y)
    assert comparison.chosen.method == "isotonic"
    fresh, labels = answered(6000, crooked, 5)
    mapped = comparison.chosen(fresh)
    assert mapped.sum(axis=1) == pytest.approx(1)
    assert nll(mapped, labels) < nll(fresh, labels)
    few = choose_recalibration(p[:500], y[:500])
    assert "isotonic" not in few.held_out_nll


def chosen_over_seeds(
    rows: int, distort: object, seeds: int
) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Which method is chosen from each of so many samples, and what it adds to the loss of nothing.

    The loss is that on the law itself: on many rows that no choice has seen.
    """
    fresh, labels = answered(20_000, distort, 9999)
    before = nll(fresh, labels)
    methods, added = [], []
    for seed in range(seeds):
        comparison = choose_recalibration(*answered(rows, distort, 100 + seed))
        losses = comparison.held_out_nll
        assert losses[comparison.chosen.method] <= losses["none"]
        methods.append(comparison.chosen.method)
        added.append(nll(comparison.chosen(fresh), labels) - before)
    return methods, np.array(added)


@pytest.mark.parametrize("rows", [100, 300, 1200])
def test_what_is_calibrated_is_left_alone(rows: int) -> None:
    """Nothing is the best that can be done here, so any choice costs something: almost none is."""
    methods, added = chosen_over_seeds(rows, lambda z: z, 60)
    assert methods.count("none") >= 0.95 * 60
    assert added.mean() <= 0.001


@pytest.mark.parametrize(("heat", "rows"), [(1.15, 1200), (1.4, 300), (2.0, 100), (0.6, 300)])
def test_on_average_never_worse_than_nothing_on_rows_held_out(heat: float, rows: int) -> None:
    _, added = chosen_over_seeds(rows, lambda z: heat * z, 40)
    assert added.mean() < 0
    assert (added <= 0).mean() >= 0.95


def test_few_rows_are_left_alone() -> None:
    p, y = answered(LEAST_ROWS - 1, lambda z: 5 * z, 6)
    assert choose_recalibration(p, y).chosen == Recalibration()
    assert choose_recalibration(np.ones((300, 1)), [0] * 300).chosen == Recalibration()


def test_one_distribution_is_mapped_like_many() -> None:
    each = Recalibration("bias", 2.0, (0.1, -0.2, 0.0))
    p, _ = answered(5, lambda z: z, 7)
    assert each(p)[3] == pytest.approx(each(p[3]))
    assert Recalibration()(p[0]).tolist() == p[0].tolist()
