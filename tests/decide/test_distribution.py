import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.decide.distribution import distribution
from thisthat.decide.exact_probabilities import DENOMINATOR, quantized
from thisthat.temperature import softmax

LOGITS = st.lists(st.floats(-60, 60, width=32), min_size=1, max_size=24)


@given(LOGITS, st.floats(0.1, 5))
def test_it_is_the_softmax_quantized(logits: list[float], temperature: float) -> None:
    given_logits = np.array(logits, np.float32)
    found = distribution(given_logits, temperature)
    wanted = quantized(softmax(given_logits, temperature))
    assert found == pytest.approx(wanted.tolist(), abs=8 / DENOMINATOR)
    assert sum(found) == 1
    assert min(found) > 0
    assert all(float(p * DENOMINATOR).is_integer() for p in found)


def test_what_is_no_number_stays_none() -> None:
    assert np.isnan(distribution(np.array([0.0, np.nan]), 1.0)).any()
