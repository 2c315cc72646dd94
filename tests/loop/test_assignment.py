"""Keys stay with their arm, in the promised shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat.loop.assignment import assign, place


@given(st.text(), st.text(max_size=8), st.floats(0, 1), st.floats(0, 1))
def test_a_key_stays_with_the_candidate_as_the_share_grows(
    key: str, salt: str, one: float, other: float
) -> None:
    small, large = sorted((one, other))
    assert assign(key, salt, small) == assign(key, salt, small)
    if assign(key, salt, small).candidate:
        assert assign(key, salt, large).candidate


def test_shares_are_kept_and_salts_are_independent() -> None:
    keys = [f"customer {number}" for number in range(20_000)]
    first = [assign(key, "a", 0.1).candidate for key in keys]
    second = [assign(key, "b", 0.1).candidate for key in keys]
    assert sum(first) / len(keys) == pytest.approx(0.1, abs=0.01)
    both = sum(one and other for one, other in zip(first, second, strict=True))
    assert both / len(keys) == pytest.approx(0.01, abs=0.004)
    assert min(place(key, "a") for key in keys) >= 0.0


def test_the_propensity_is_that_of_the_arm() -> None:
    for key in map(str, range(50)):
        given_ = assign(key, "s", 0.25)
        assert given_.propensity == (0.25 if given_.candidate else 0.75)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_shares_outside_zero_and_one_are_refused(share: float) -> None:
    with pytest.raises(InvalidInputError, match="share"):
        assign("k", "s", share)
