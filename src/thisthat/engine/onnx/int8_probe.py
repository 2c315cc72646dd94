"""Whether this processor multiplies bytes exactly, and which numbers it may be given if not.

Processors without dot-product instructions add pairs of byte products in sixteen bits and cut off
what does not fit. It always fits where one of the two factors has seven bits. A tiny product that
would be cut off tells which kind this is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class ProbeLimits:
    """How many steps from zero a weight, and one term of an activation, may be."""

    weight: int
    activation: int

    @property
    def zero(self) -> int:
        """The byte that stands for an activation of zero; the smallest is then 1."""
        return self.activation + 1


WHOLE = ProbeLimits(127, 127)
SMALL_WEIGHTS = ProbeLimits(64, 127)
SMALL_ACTIVATIONS = ProbeLimits(127, 63)

_DEPTH = 64
PROBE = bytes.fromhex(
    "080a12003a80010a250a046c6566740a057269676874120770726f64756374220d4d61744d756c49"
    "6e7465676572120570726f62655a180a046c65667412100a0e0802120a0a0312014d0a0312014b5a"
    "190a05726967687412100a0e0803120a0a0312014b0a0312014e621b0a0770726f6475637412100a"
    "0e0806120a0a0312014d0a0312014e42040a001015"
)
"""A graph of one node: MatMulInteger over ``left`` (bytes) and ``right`` (signed bytes)."""


def safe_limits(one_term: bool) -> ProbeLimits:
    """The limits of int8 forms here; ``one_term`` says that activations have no second term.

    Where something has to be small, a single term needs its eight bits more than the weights do;
    of two terms, the second makes up for what seven bits round off, and weights stay whole.
    """
    if multiplies_exactly():
        return WHOLE
    return SMALL_WEIGHTS if one_term else SMALL_ACTIVATIONS


@cache
def multiplies_exactly() -> bool:
    """True when no product of bytes is cut off on this processor."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return is_exact(
        onnxruntime.InferenceSession(PROBE, options, providers=["CPUExecutionProvider"])
    )


def is_exact(session: Any) -> bool:
    """The same for the processor that ``session``, opened on the probe, runs on."""
    left = np.full((1, _DEPTH), 255, np.uint8)
    right = np.full((_DEPTH, 16), 127, np.int8)
    (product,) = session.run(None, {"left": left, "right": right})
    return np.array_equal(product, left.astype(np.int32) @ right.astype(np.int32))
