"""Trunks whose tokens see each other: an encoder's look at the state inside a causal model.

An opened token sees everything before it and, after it, the rest of its block of 1,024 tokens.
Blocks count from the trunk's first token, so a long trunk can still be read block by block.
Why: docs/decisions/open-states.md. Knows nothing of tensors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

OPEN_BLOCK = 1024


def since(length: int, opened: int) -> NDArray[np.int64]:
    """For each of ``length`` tokens the first one that sees it; the first ``opened`` are open.

    A token k is seen by q where ``since[k] <= q``; all places count from the first token.
    """
    places = np.arange(length, dtype=np.int64)
    return np.where(places < opened, places // OPEN_BLOCK * OPEN_BLOCK, places)
