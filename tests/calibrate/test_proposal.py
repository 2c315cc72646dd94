from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from tests.calibrate.scores import drawn
from thisthat.calibrate.proposal import MOST_CANDIDATES, proposed, wrong_rates
from thisthat.decide.target import Target, parse_target


def wrong_among(cut: float, rows: int = 100_000) -> float:
    scored = drawn(rows, 3, seed=8)
    return float((~scored.right[scored.probability >= cut]).mean())


@pytest.mark.parametrize("rows", [5, 40, 300])
def test_the_curve_is_the_one_another_optimiser_finds(rows: int) -> None:
    scored = drawn(rows, 3, seed=rows)
    x, y = logit(np.clip(scored.probability, 1e-9, 1 - 1e-9)), scored.right

    def loss(line: np.ndarray) -> float:  # type: ignore[type-arg]
        z = line[0] + line[1] * x
        pull = (0.03 * line[0] ** 2 + (line[1] - 1) ** 2) / 2
        return float(np.logaddexp(0, np.where(y, -z, z)).sum() + pull)

    found = minimize(loss, np.array([0.0, 1.0]), method="Nelder-Mead", tol=1e-10).x
    expected = expit(-(found[0] + found[1] * x))
    assert wrong_rates(scored.probability, scored.probability, scored.right) == pytest.approx(
        expected, abs=1e-4
    )


def test_cutoffs_fall_from_one_that_should_pass() -> None:
    scored = drawn(100, 3, seed=2)
    cuts = proposed(scored.probability, scored.right, 900, Target("error", 0.05), 0.1)
    assert cuts == sorted(cuts, reverse=True)
    assert len(set(cuts)) == len(cuts) <= MOST_CANDIDATES
    assert cuts[-1] == scored.probability.min()
    assert wrong_among(cuts[0]) < 0.03


def test_a_scorer_that_is_right_though_unsure_is_believed() -> None:
    sure = np.linspace(0.52, 0.65, 20)
    cuts = proposed(sure, np.ones(20, bool), 100, Target("error", 0.05), 0.05)
    assert (sure >= cuts[0]).mean() > 0.9


def test_few_rows_to_test_with_are_not_spent_on_cutoffs_that_few_reach() -> None:
    scored = drawn(30, 3, seed=3)
    first = proposed(scored.probability, scored.right, 70, Target("error", 0.05), 0.1)[0]
    assert (scored.probability >= first).mean() * 70 > 45  # 45 faultless rows pass, no fewer


def test_under_a_cost_the_cheapest_comes_first() -> None:
    """Acting pays where less than fn / (fp + fn) of the answers with that score are wrong."""
    scored = drawn(300, 3, seed=4)
    target = parse_target("cost(fp=9,fn=1)")
    first = proposed(scored.probability, scored.right, 1000, target, 0.1)[0]
    rate = wrong_rates(np.array([first]), scored.probability, scored.right)[0]
    assert rate == pytest.approx(0.1, abs=0.03)


def test_one_row_proposes_its_own_score() -> None:
    for target in ("error<=0.1", "cost(fp=9,fn=1)"):
        assert proposed(np.array([0.8]), np.array([True]), 9, parse_target(target), 0.1) == [0.8]
