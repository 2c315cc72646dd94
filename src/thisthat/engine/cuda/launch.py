"""What launches of several kernels share: the tile of tokens, powers of two, precision."""

from __future__ import annotations

import torch
from torch import Tensor

STEP = 16
"""Tokens of a program where tokens do not depend on each other."""


def power_of_two(size: int) -> int:
    """The smallest power of two that is not below a size."""
    return 1 << max(0, size - 1).bit_length()


def precision_of(x: Tensor) -> str:
    """How the matrix units read float32 numbers: in three parts where the model is float32."""
    return "tf32x3" if x.dtype == torch.float32 else "tf32"
