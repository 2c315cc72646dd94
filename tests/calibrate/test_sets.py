from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calibrate.scores import noisy_oracle, suite_items
from thisthat.calibrate.sets import fewest_labels, fit_least_probability
from thisthat.decide.policy import prediction_set
from thisthat.errors import InvalidInputError


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=19, max_size=200), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
def test_the_cut_is_the_highest_that_conformal_prediction_allows(
    truths: list[float], coverage: float
) -> None:
    """Brute force: the largest value that at least (n + 1) * coverage of the labels reach."""
    need = (len(truths) + 1) * coverage
    allowed = [v for v in truths if sum(t >= v for t in truths) >= need - 1e-9]
    assert fit_least_probability(truths, coverage) == max(allowed)


def test_sets_cover_as_often_as_they_say_and_are_small() -> None:
    distributions, labels = noisy_oracle(suite_items("shipping", 400))(4000, 4)
    p, y = np.array(distributions), np.array(labels)
    truths = p[np.arange(len(y)), y]
    random = np.random.default_rng(5)
    covered, sizes = [], []
    for _ in range(200):
        rows = random.permutation(len(y))
        least = fit_least_probability(truths[rows[:300]].tolist(), 0.95)
        covered.append((truths[rows[300:]] >= least).mean())
        sizes.append((p[rows[300:]] >= least).sum(axis=1).mean())
    assert 0.95 <= np.mean(covered) <= 0.96
    # The smallest mean size of any rule of this form that covers 95 % of all rows.
    assert np.mean(sizes) <= (p >= np.quantile(truths, 0.05)).sum(axis=1).mean() + 0.1


def test_a_set_is_ordered_and_never_empty() -> None:
    p = {"a": 0.2, "b": 0.5, "c": 0.3}
    assert prediction_set(p, 0.25) == ("b", "c")
    assert prediction_set(p, 0.9) == ("b",)
    assert prediction_set(p, 0.0) == ("b", "c", "a")


def test_too_few_labels_are_refused() -> None:
    assert fewest_labels(0.95) == 19
    with pytest.raises(
        InvalidInputError, match=r"18 given; sets with coverage 0\.95 need at least 19"
    ):
        fit_least_probability([0.5] * 18, 0.95)
    assert fit_least_probability([0.5] * 18 + [0.1], 0.95) == 0.1
    assert fit_least_probability([0.2, 0.9, 0.4], 1e-12) == 0.9
