import itertools
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.decide.exact_probabilities import DENOMINATOR, quantized

weights = st.lists(st.floats(1e-30, 1.0), min_size=1, max_size=255)


@given(weights)
@settings(deadline=None)
def test_any_order_of_adding_gives_exactly_one(weights: list[float]) -> None:
    given = np.array(weights) / np.sum(weights)
    parts = quantized(given).tolist()
    assert sum(parts) == 1.0
    random.Random(0).shuffle(parts)
    assert sum(parts) == 1.0
    assert min(parts) > 0
    assert np.allclose(np.sort(parts), np.sort(given), atol=300 / DENOMINATOR, rtol=0)


@given(weights)
@settings(deadline=None)
def test_the_mean_level_has_no_rounding_error(weights: list[float]) -> None:
    parts = quantized(np.array(weights) / np.sum(weights)).tolist()
    terms = [level * p for level, p in enumerate(parts)]
    assert sum(terms) == sum(reversed(terms))
    assert sum(terms) * DENOMINATOR == sum(
        level * int(p * DENOMINATOR) for level, p in enumerate(parts)
    )


def test_equal_shares_stay_equal_but_for_the_rest() -> None:
    for count in itertools.chain(range(1, 20), [255]):
        parts = quantized(np.full(count, 1 / count))
        assert float(parts.max()) >= 1 / count
