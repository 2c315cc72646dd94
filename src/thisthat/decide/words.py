"""The words of a text as counts in buckets: single words and pairs, hashed the same everywhere."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from itertools import pairwise

_WORD = re.compile(r"\w+|[^\w\s]")


def word_counts(text: str, buckets: int) -> dict[int, float]:
    """1 + ln(count) of every bucket that a word, or a pair of neighbouring words, falls into."""
    words = _WORD.findall(text.lower())
    pairs = [f"{one} {two}" for one, two in pairwise(words)]
    found = Counter(zlib.crc32(each.encode()) % buckets for each in (*words, *pairs))
    return {bucket: 1 + math.log(count) for bucket, count in found.items()}
