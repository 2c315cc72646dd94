"""The words of a text as counts in buckets, hashed the same everywhere.

Beside every word stand its pieces of three and four letters, so that forms and misspellings of a
word share.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

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
    """Buckets that words and their pieces fall into, ascending, and 1 + ln(count) of each."""
    words = _WORD.findall(text.lower())
    hashed = [_remembered(word) if len(word) <= _LONGEST else _hashes(word) for word in words]
    places = np.concatenate(hashed or [np.zeros(0, np.uint32)]) % np.uint32(buckets)
    found, counts = np.unique(places, return_counts=True)
    return found.astype(np.int64), (1 + np.log(counts)).astype(np.float32)


def _hashes(word: str) -> Hashes:
    found = [word]
    if word[0].isalnum() or word[0] == "_":
        framed = f"<{word[:_LONGEST]}>"
        for size in _SIZES:
            found += (f"#{framed[at : at + size]}" for at in range(len(framed) - size + 1))
    return np.array([zlib.crc32(each.encode()) for each in found], np.uint32)


_remembered = lru_cache(maxsize=1 << 13)(_hashes)
