"""Tables of the rotary position embedding (rope)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.llama_shape import LlamaShape

Array = NDArray[np.float32]


def rotary_tables(shape: LlamaShape, length: int) -> tuple[Array, Array]:
    """Cosines and sines [length, head_width / 2] of the rotary position embedding."""
    speeds = shape.rope_base ** (-np.arange(0, shape.head_width, 2) / shape.head_width)
    angles = np.outer(np.arange(length), speeds)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
