"""One step of a llama-type model in plain numpy: kernels are proven against it, and it shows what
is loud.

Knows weights by their Hugging Face names, less the layer's; a bias is ``q_proj.bias``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.llama_shape import LlamaShape

Array = NDArray[Any]
"""Of one floating-point type throughout, which is what a step computes in."""


@dataclass(frozen=True, slots=True)
class PlainStep:
    """Tokens after a step, and what two of its products were given: both are [tokens, width]."""

    hidden: Array
    projected: Array
    gated: Array


def plain_step(
    shape: LlamaShape,
    layer: Mapping[str, Array],
    hidden: Array,
    ropes: tuple[Array, Array],
    seen: NDArray[np.bool_],
) -> PlainStep:
    """``ropes`` are the cosines and sines of each token, ``seen`` [tokens, tokens] whom it sees."""
    tokens, group = len(hidden), shape.heads // shape.shared_heads
    projected = plain_norm(hidden, layer["input_layernorm"], shape.epsilon)
    query, key, value = (
        (projected @ layer[name].T + layer.get(f"{name}.bias", 0)).reshape(
            tokens, -1, shape.head_width
        )
        for name in ("q_proj", "k_proj", "v_proj")
    )
    query, key = (plain_rope(heads, *ropes) for heads in (query, key))
    key, value = (heads.repeat(group, axis=1) for heads in (key, value))
    scores = np.einsum("ihd,jhd->hij", query, key) / np.sqrt(shape.head_width).astype(hidden.dtype)
    scores = np.where(seen, scores, -np.inf)
    probabilities = np.exp(scores - scores.max(axis=-1, keepdims=True))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    mixed = np.einsum("hij,jhd->ihd", probabilities, value).reshape(tokens, -1)
    hidden = hidden + mixed @ layer["o_proj"].T
    gated = plain_norm(hidden, layer["post_attention_layernorm"], shape.epsilon)
    gate = gated @ layer["gate_proj"].T
    inner = gate * (1 + np.tanh(gate / 2)) / 2 * (gated @ layer["up_proj"].T)
    return PlainStep(hidden + inner @ layer["down_proj"].T, projected, gated)


def plain_norm(hidden: Array, weight: Array, epsilon: float) -> Array:
    """The root mean square norm of each token."""
    squares = (hidden**2).mean(axis=-1, keepdims=True)
    normed: Array = hidden / np.sqrt(squares + hidden.dtype.type(epsilon)) * weight
    return normed


def plain_rope(heads: Array, cosine: Array, sine: Array) -> Array:
    """``heads`` [tokens, heads, width] with the rotary position embedding."""
    one, two = np.split(heads, 2, axis=-1)
    cosine, sine = cosine[:, None], sine[:, None]
    return np.concatenate([one * cosine - two * sine, two * cosine + one * sine], axis=-1)
