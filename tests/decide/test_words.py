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
    pieces = ("is", "#<is", "#is>", "#<is>", "it", "#<it", "#it>", "#<it>", "?")
    assert places.tolist() == sorted(zlib.crc32(each.encode()) % BUCKETS for each in pieces)
    assert counts.tolist() == [1.0] * 9


def test_a_word_twice_counts_little_more() -> None:
    once, twice = (word_counts(text, BUCKETS) for text in ("late", "Late late"))
    assert once[0].tolist() == twice[0].tolist()
    assert np.allclose(twice[1], 1 + math.log(2))


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


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=8), st.randoms())
def test_the_order_of_words_does_not_matter(words: list[str], random: object) -> None:
    mixed = list(words)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = (word_counts(" ".join(each), 64) for each in (words, mixed))
    assert one[0].tolist() == other[0].tolist() == sorted(set(one[0].tolist()))
    assert np.array_equal(one[1], other[1])
    assert all(0 <= place < 64 for place in one[0])
