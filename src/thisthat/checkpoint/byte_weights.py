"""Weights that eight bits hold exactly, so that float32 and int8 are the same model.

Every row of a linear layer becomes whole numbers from -127 to 127 times a step of its own, the grid
of the int8 runtime form.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint.model import Weights

_LARGEST = np.float32(127)
_LINEAR = re.compile(r"\.layers\.\d+\..*_proj\.weight$")


def round_to_bytes(weights: Weights) -> Weights:
    """The weights with linear layers rounded.

    ``weights`` is emptied on the way, so that the memory need not hold both; no tensor is changed.
    """

    def taken(name: str) -> NDArray[np.float32]:
        value = weights.pop(name)
        return _rounded(value) if _LINEAR.search(name) and value.ndim == 2 else value

    return {name: taken(name) for name in list(weights)}


def _rounded(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    steps = np.maximum(np.abs(rows).max(axis=1, keepdims=True) / _LARGEST, np.float32(1e-12))
    rounded: NDArray[np.float32] = np.rint(rows / steps) * steps
    return rounded
