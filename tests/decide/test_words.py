from __future__ import annotations

import math
import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thisthat.decide.words import word_counts

BUCKETS = 1 << 14


def shared(one: str, other: str) -> float:
    """The cosine of two texts' counts."""
    vectors = np.zeros((2, BUCKETS))
    for vector, text in zip(vectors, (one, other), strict=True):
        places, counts = word_counts(text, BUCKETS)
        vector[places] = counts
    lengths = np.linalg.norm(vectors, axis=1)
    return float(vectors[0] @ vectors[1] / lengths.prod())


def test_the_same_buckets_everywhere() -> None:
    places, counts = word_counts("Is it?", BUCKETS)
    pieces = ("is", "#<is", "#is>", "#<is>", "it", "#<it", "#it>", "#<it>", "?", "is it", "it ?")
    assert places.tolist() == sorted(zlib.crc32(each.encode()) % BUCKETS for each in pieces)
    assert counts.tolist() == [1.0] * 11


def test_a_word_twice_counts_little_more() -> None:
    once, twice = (word_counts(text, BUCKETS) for text in ("late", "Late late"))
    more = dict(zip(*(each.tolist() for each in twice), strict=True))
    assert all(math.isclose(more[place], 1 + math.log(2), rel_tol=1e-6) for place in once[0])
    assert len(more) == len(once[0]) + 1


def test_forms_and_misspellings_share_with_the_word() -> None:
    assert shared("the delivery", "the delivered") > 0.5
    assert shared("delivery", "delivrey") > 0.25
    assert shared("delivery", "invoice") == 0


def test_a_long_word_has_few_pieces() -> None:
    places, _ = word_counts("x" + "ab" * 50_000, BUCKETS)
    assert len(places) < 70
    assert shared("x" * 40, "x" * 41) < 1


def test_nothing_has_no_words() -> None:
    places, counts = word_counts(" \n", BUCKETS)
    assert places.size == counts.size == 0


def test_neighbours_tell_the_order_of_words() -> None:
    assert 0.5 < shared("not good, only cheap", "only good, not cheap") < 1


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 1 << 14))
def test_buckets_ascend_and_every_word_has_one(text: str, buckets: int) -> None:
    places, counts = word_counts(text, buckets)
    assert places.tolist() == sorted(set(places.tolist()))
    assert all(0 <= place < buckets for place in places)
    assert (counts >= 1).all()
    assert bool(text.strip()) == bool(places.size) or not text.split()
