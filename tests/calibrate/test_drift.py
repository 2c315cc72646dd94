from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from thisthat.calibrate.drift import (
    chi_squared,
    chi_squared_tail,
    drift_tests,
    kolmogorov_smirnov,
)
from thisthat.decide.policy import ReferencePart


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.2])
def test_the_kolmogorov_smirnov_test_is_scipys(shift: float) -> None:
    random = np.random.default_rng(1)
    a, b = random.random(300), random.random(500) + shift
    theirs = stats.ks_2samp(a, b, method="asymp")
    statistic, p = kolmogorov_smirnov(a.tolist(), b.tolist())
    assert statistic == pytest.approx(theirs.statistic)
    scaled = statistic * np.sqrt(300 * 500 / 800)
    assert p == pytest.approx(stats.kstwobign.sf(scaled), abs=1e-9)
    assert p == pytest.approx(theirs.pvalue, abs=0.05)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 20])
@pytest.mark.parametrize("statistic", [0.1, 1.0, 5.0, 40.0])
def test_the_chi_squared_tail_is_scipys(degrees: int, statistic: float) -> None:
    assert chi_squared_tail(statistic, degrees) == pytest.approx(stats.chi2.sf(statistic, degrees))
    assert chi_squared_tail(0.0, degrees) == 1.0


def test_the_chi_squared_test_is_scipys() -> None:
    one, other = {"a": 50, "b": 30, "c": 20}, {"a": 40, "b": 50, "c": 30}
    table = [[50, 30, 20], [40, 50, 30]]
    theirs = stats.chi2_contingency(table, correction=False)
    assert chi_squared(one, other) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_rare_options_are_pooled() -> None:
    assert chi_squared({"a": 60, "b": 1}, {"a": 60}) is None
    assert chi_squared({"a": 60}, {"a": 60}) is None
    pooled = chi_squared({"a": 60, "b": 4, "c": 4}, {"a": 60, "b": 4, "c": 4})
    assert pooled == pytest.approx((0.0, 1.0))


def reference(random: np.random.Generator, rows: int) -> ReferencePart:
    sure = sorted(random.beta(5, 1, rows).tolist())
    return ReferencePart(best={"a": rows // 2, "b": rows - rows // 2}, sure=sure)


def test_drift_is_seen_and_its_absence_is_not_taken_for_it() -> None:
    random = np.random.default_rng(2)
    false = 0
    for _ in range(200):
        fit = reference(random, 400)
        best = random.choice(["a", "b"], 300).tolist()
        tests = drift_tests("q", fit, best, random.beta(5, 1, 300).tolist(), level=0.05)
        assert [t.test for t in tests] == ["Kolmogorov-Smirnov test", "chi-squared test"]
        false += any(test.drifted for test in tests)
    assert false / 200 <= 0.06
    unsure = drift_tests("q", fit, best, random.beta(2, 1, 300).tolist())
    assert [test.drifted for test in unsure] == [True, False]
    only_a = drift_tests("q", fit, ["a"] * 300, random.beta(5, 1, 300).tolist())
    assert [test.drifted for test in only_a] == [False, True]
    assert "q: drift since the policy was fitted (chi-squared test, statistic" in str(only_a[1])
    assert "p-value" in str(only_a[1])


def test_a_few_decisions_tell_nothing() -> None:
    fit = reference(np.random.default_rng(3), 400)
    assert drift_tests("q", fit, ["a"] * 49, [0.1] * 49) == []
