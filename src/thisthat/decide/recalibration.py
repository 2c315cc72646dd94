"""Applying a recalibration: from one distribution to another over the same options.

``thisthat.calibrate`` fits them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Method: TypeAlias = Literal["none", "temperature", "bias", "isotonic"]
Floats = NDArray[np.float64]

SMALLEST = 1e-12
"""Probabilities are clipped here before taking their logarithm."""


@dataclass(frozen=True)
class MonotoneMap:
    """A non-decreasing map through knots, straight between them, flat outside them."""

    x: tuple[float, ...]
    y: tuple[float, ...]

    def __call__(self, values: ArrayLike) -> NDArray[np.float64]:
        """The mapped values."""
        return np.interp(np.asarray(values, np.float64), self.x, self.y)


@dataclass(frozen=True)
class Recalibration:
    """A map from one distribution to another over the same options.

    ``temperature`` and ``biases`` act on log probabilities; ``maps`` holds one non-decreasing
    map per option, applied and then normalised.
    """

    method: Method = "none"
    temperature: float = 1.0
    biases: tuple[float, ...] = ()
    maps: tuple[MonotoneMap, ...] = ()

    def __call__(self, probabilities: ArrayLike) -> Floats:
        """The recalibrated distributions, a row each (or one distribution)."""
        p = np.asarray(probabilities, np.float64)
        if self.method == "none":
            return p
        if self.method == "isotonic":
            mapped = np.stack([each(p[..., i]) for i, each in enumerate(self.maps)], axis=-1)
            return np.asarray(mapped / mapped.sum(axis=-1, keepdims=True))
        logits = np.log(np.maximum(p, SMALLEST)) / self.temperature
        if self.biases:
            logits = logits + np.asarray(self.biases)
        return softmax_rows(logits)


def softmax_rows(logits: Floats) -> Floats:
    """The softmax over the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
