"""Weights as training leaves them: a little further on, by noise or by products of low rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thisthat.checkpoint.model import Weights


def with_noise(base: Weights, size: float = 0.01, seed: int = 1) -> Weights:
    """Every number a little further on."""
    random = np.random.default_rng(seed)
    return {
        name: tensor + size * random.standard_normal(tensor.shape, dtype=np.float32)
        for name, tensor in base.items()
    }


def same_bits(first: Weights, second: Weights) -> bool:
    """Whether all tensors are the same, signs of zeros included."""
    return set(first) == set(second) and all(
        np.array_equal(first[name].view(np.uint32), second[name].view(np.uint32)) for name in first
    )


def with_low_rank(base: Weights, rank: int, size: float = 0.01, seed: int = 1) -> Weights:
    """Every matrix further on by a product of this rank, every norm by ``size``."""
    random = np.random.default_rng(seed)

    def moved(tensor: NDArray[np.float32]) -> NDArray[np.float32]:
        if tensor.ndim < 2:
            return tensor + np.float32(size)
        left = random.standard_normal((tensor.shape[0], rank), dtype=np.float32)
        right = random.standard_normal((rank, tensor.shape[1]), dtype=np.float32)
        return tensor + np.float32(size) * left @ right

    return {name: moved(tensor) for name, tensor in base.items()}
