"""The best non-decreasing fit to points: pool adjacent violators."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from thisthat.decide.recalibration import MonotoneMap


def fit_isotonic(x: ArrayLike, y: ArrayLike) -> MonotoneMap:
    """The non-decreasing function closest to the points in squared error.

    Pool adjacent violators (Ayer, Brunk, Ewing, Reid and Silverman 1955). Equal ``x`` are averaged
    first. Only the ends of every level stretch are kept as knots.
    """
    places, inverse = np.unique(np.asarray(x, np.float64), return_inverse=True)
    weights = np.bincount(inverse).astype(np.float64)
    means = np.bincount(inverse, np.asarray(y, np.float64)) / weights
    blocks: list[tuple[float, float, int, int]] = []  # mean, weight, first place, last place
    for index, (mean, weight) in enumerate(zip(means.tolist(), weights.tolist(), strict=True)):
        first = index
        while blocks and blocks[-1][0] >= mean:
            before, heavy, first, _ = blocks.pop()
            mean = (before * heavy + mean * weight) / (heavy + weight)
            weight += heavy
        blocks.append((mean, weight, first, index))
    knots = {places[at]: mean for mean, _, first, last in blocks for at in (first, last)}
    return MonotoneMap(
        tuple(float(place) for place in knots), tuple(float(mean) for mean in knots.values())
    )
