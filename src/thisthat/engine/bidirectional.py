"""Trunks whose tokens see each other: an encoder's look at the state inside a causal model.

An opened token sees everything before it and, after it, the rest of its block of 1,024 tokens.
Blocks count from the trunk's first token, so a long trunk can still be read block by block.
Why: docs/decisions/open-states.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

OPEN_BLOCK = 1024


def since(length: int, opened: int, before: int = 0) -> NDArray[np.int64]:
    """For each of ``length`` tokens the first one that sees it; ``opened`` of them are open.

    A token k is seen by q where ``since[k] <= q``; all places count from the first token. The open
    ones come after ``before`` others, and their blocks are counted from there.
    """
    found = np.arange(length, dtype=np.int64)
    for start, end in blocks(opened):
        found[before + start : before + end] = before + start
    return found


def blocks(opened: int) -> list[tuple[int, int]]:
    """First token and end of each block of a trunk's first ``opened`` tokens.

    A block must be read in one pass; where it ends, the trunk may be cut.
    """
    starts = range(0, opened, OPEN_BLOCK)
    return [(start, min(start + OPEN_BLOCK, opened)) for start in starts]
