from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from thisthat.calibrate.isotonic import fit_isotonic

points = st.lists(
    st.tuples(st.integers(0, 30).map(lambda n: n / 30), st.integers(0, 4)), min_size=1, max_size=80
)


@settings(deadline=None)
@given(points)
def test_the_fit_is_that_of_scikit_learn(pairs: list[tuple[float, int]]) -> None:
    x, y = np.array([x for x, _ in pairs]), np.array([float(y) for _, y in pairs])
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    grid = np.linspace(-0.5, 1.5, 101)
    assert fit_isotonic(x, y)(grid) == pytest.approx(theirs.predict(grid), abs=1e-7)


def test_many_noisy_points() -> None:
    random = np.random.default_rng(0)
    x = random.random(5000)
    y = (random.random(5000) < x**2).astype(float)
    fitted = fit_isotonic(x, y)
    assert list(fitted.y) == sorted(fitted.y)
    assert fitted([0.3, 0.9]) == pytest.approx([0.09, 0.81], abs=0.06)
