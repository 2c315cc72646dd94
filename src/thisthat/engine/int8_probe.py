"""Whether this processor multiplies bytes exactly.

Processors without dot-product instructions add pairs of byte products in sixteen bits and cut off
what does not fit; weights between -64 and 64 always fit. A tiny product that would be cut off tells
which weights are safe here. Knows nothing of models.
"""

from __future__ import annotations

from typing import Any

import numpy as np

FULL_LIMIT = 127
SAFE_LIMIT = 64

_DEPTH = 64
PROBE = bytes.fromhex(
    "080a12003a80010a250a046c6566740a057269676874120770726f64756374220d4d61744d756c49"
    "6e7465676572120570726f62655a180a046c65667412100a0e0802120a0a0312014d0a0312014b5a"
    "190a05726967687412100a0e0803120a0a0312014b0a0312014e621b0a0770726f6475637412100a"
    "0e0806120a0a0312014d0a0312014e42040a001015"
)
"""A graph of one node: MatMulInteger over ``left`` (bytes) and ``right`` (signed bytes)."""


def weight_limit() -> int:
    """The largest weight, as a whole number, that int8 forms may use on this processor."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return limit_of(
        onnxruntime.InferenceSession(PROBE, options, providers=["CPUExecutionProvider"])
    )


def limit_of(session: Any) -> int:
    """The same for the processor that ``session``, opened on the probe, runs on."""
    left = np.full((1, _DEPTH), 255, np.uint8)
    right = np.full((_DEPTH, 16), 127, np.int8)
    (product,) = session.run(None, {"left": left, "right": right})
    exact = left.astype(np.int32) @ right.astype(np.int32)
    return FULL_LIMIT if np.array_equal(product, exact) else SAFE_LIMIT
