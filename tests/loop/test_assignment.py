"""Keys stay with their arm, in the promised shares."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat.loop.assignment import assign, place


@given(st.text(st.characters(codec="utf-8")), st.floats(0, 1), st.floats(0, 1))
def test_a_key_stays_with_the_candidate_as_the_share_grows(
    key: str, one: float, other: float
) -> None:
    small, large = sorted((one, other))
    assert assign(key, [("s", small)]) == assign(key, [("s", small)])
    if assign(key, [("s", small)]).canary == 0:
        assert assign(key, [("s", large)]).canary == 0


def test_shares_are_kept_and_salts_are_independent() -> None:
    keys = [f"customer {number}" for number in range(20_000)]
    first = [assign(key, [("a", 0.1)]).canary == 0 for key in keys]
    second = [assign(key, [("b", 0.1)]).canary == 0 for key in keys]
    assert sum(first) / len(keys) == pytest.approx(0.1, abs=0.01)
    both = sum(one and other for one, other in zip(first, second, strict=True))
    assert both / len(keys) == pytest.approx(0.01, abs=0.004)
    assert min(place(key, "a") for key in keys) >= 0.0


def test_the_propensity_is_that_of_the_arm() -> None:
    for key in map(str, range(50)):
        found = assign(key, [("s", 0.25)])
        assert found.propensity == (0.75 if found.canary is None else 0.25)
        assert found.shares == (0.25,)


def test_several_canaries_have_the_chances_that_are_stated() -> None:
    canaries = [("a", 0.3), ("b", 0.5), ("c", 0.0)]
    found = [assign(str(number), canaries) for number in range(20_000)]
    counts = Counter(each.canary for each in found)
    stated = {each.canary: each.propensity for each in found}
    assert stated == pytest.approx({0: 0.3, 1: 0.35, None: 0.35})
    for canary, chance in stated.items():
        assert counts[canary] / len(found) == pytest.approx(chance, abs=0.015)
    for canary in (0, 1):
        against = counts[canary] / (counts[canary] + counts[None])
        assert against == pytest.approx(found[0].shares[canary], abs=0.015)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_shares_outside_zero_and_one_are_refused(share: float) -> None:
    with pytest.raises(InvalidInputError, match="share"):
        assign("k", [("s", share)])
