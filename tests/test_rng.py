from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.rng import GOLDEN, Rng


def reference_stream(seed: int, count: int) -> list[int]:
    """SplitMix64 as written in its paper, one number at a time."""
    mask = (1 << 64) - 1
    numbers = []
    for _ in range(count):
        seed = (seed + GOLDEN) & mask
        mixed = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & mask
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
        numbers.append(mixed ^ (mixed >> 31))
    return numbers


def test_stream_is_splitmix64() -> None:
    rng = Rng("any", 1)
    assert [rng.raw() for _ in range(200)] == reference_stream(rng._seed, 200)


def test_stream_never_changes() -> None:
    rng = Rng("golden", 7)
    assert [rng.raw() for _ in range(2)] == [14205341403833481780, 8310333745462515630]


def test_keys_name_the_stream() -> None:
    assert Rng("a", 1).raw() == Rng("a", 1).raw()
    different = {Rng("a", 1).raw(), Rng("a", "1").raw(), Rng("a1").raw(), Rng(1, "a").raw()}
    assert len(different) == 4


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.integers(0, 100))
def test_integers_stay_inside(low: int, span: int, key: int) -> None:
    rng = Rng(key)
    assert low <= rng.integer(low, low + span) <= low + span
    many = rng.integers(50, low, low + span)
    assert many.min() >= low
    assert many.max() <= low + span


def test_draws_are_even() -> None:
    rng = Rng("even")
    counts = Counter(rng.choice("abcd") for _ in range(40_000))
    assert all(abs(count - 10_000) < 500 for count in counts.values())
    weighted = Counter(rng.weighted("abc", (1, 0, 3)) for _ in range(40_000))
    assert weighted["b"] == 0
    assert abs(weighted["a"] - 10_000) < 500
    assert abs(float(np.mean(rng.uniforms(40_000))) - 0.5) < 0.01


@given(st.lists(st.integers()), st.integers())
def test_shuffle_and_sample_keep_elements(elements: list[int], key: int) -> None:
    rng = Rng(key)
    assert sorted(rng.shuffled(elements)) == sorted(elements)
    count = rng.integer(0, len(elements))
    taken = Counter(rng.sample(elements, count))
    assert taken.total() == count
    assert taken <= Counter(elements)


def test_impossible_draws_raise() -> None:
    rng = Rng()
    with pytest.raises(ValueError, match="nothing"):
        rng.choice([])
    with pytest.raises(ValueError, match="3 of 2"):
        rng.sample([1, 2], 3)
    with pytest.raises(ValueError, match="from 2 to 1"):
        rng.integer(2, 1)
