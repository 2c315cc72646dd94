"""Probabilities as multiples of 2^-45, so that sums and means are exact in float64.

Adding such numbers in any order gives exactly 1, a mean over up to 255 levels has no rounding
error, and JSON carries them without loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DENOMINATOR = 1 << 45
"""45 bits for a probability and 8 for a level fill the 53 bits of a float64."""


def quantized(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest such numbers that sum to exactly 1 and are never 0.

    The result is within 2^-44 of the distribution; the most probable entry absorbs the rounding.
    """
    parts = np.maximum(np.rint(probabilities * DENOMINATOR), 1.0)
    # Whole numbers below 2^53 add up without error in float64.
    parts[int(parts.argmax())] += DENOMINATOR - parts.sum()
    return np.asarray(parts / DENOMINATOR, dtype=np.float64)
