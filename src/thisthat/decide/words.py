"""The words of a text as counts in buckets, hashed the same everywhere.

Beside every word stand the pair it makes with the next one and its pieces of three and four
letters, so that forms and misspellings of a word share.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_WORD = re.compile(r"\w+|[^\w\s]")
_SIZES = (3, 4)
_LONGEST = 32
"""Letters: of a longer word no pieces beyond them are counted, and nothing is remembered."""

Integers = NDArray[np.int64]
Singles = NDArray[np.float32]
Hashes = NDArray[np.uint32]


def word_counts(text: str, buckets: int) -> tuple[Integers, Singles]:
    """Buckets that words, pairs and pieces fall into, ascending, and 1 + ln(count) of each."""
    words = _WORD.findall(text.lower())
    hashed = [_of_word(word) if len(word) <= _LONGEST else _hashes(word) for word in words]
    pairs = _crc(f"{one} {two}" for one, two in pairwise(words))
    places = np.concatenate([*hashed, pairs]) % np.uint32(buckets)
    found, counts = np.unique(places, return_counts=True)
    return found.astype(np.int64), (1 + np.log(counts)).astype(np.float32)


def _hashes(word: str) -> Hashes:
    found = [word]
    if word[0].isalnum() or word[0] == "_":
        framed = f"<{word[:_LONGEST]}>"
        for size in _SIZES:
            found += (f"#{framed[at : at + size]}" for at in range(len(framed) - size + 1))
    return _crc(found)


_of_word = lru_cache(maxsize=1 << 13)(_hashes)


def _crc(texts: Iterable[str]) -> Hashes:
    return np.array([zlib.crc32(each.encode()) for each in texts], np.uint32)
