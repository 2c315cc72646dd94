"""Moves the size of activation outliers into weights, so that eight bits describe both well.

A channel that is large in the activations is divided by a factor, and the weights that read it are
multiplied by the same factor; the division is folded into whatever wrote the channel (the norm
before it, `up_proj` before `down_proj`, `v_proj` before `o_proj`). The model computes the same
function. The factors follow SmoothQuant (Xiao et al., 2023), with the root mean square of a channel
in place of its largest value. Knows llama weights by their Hugging Face names; nothing of graphs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.rows import Tokens

Array = NDArray[np.float32]
Weights = dict[str, Array]

MIGRATION = 0.6
"""The share of a channel's size that moves to the weights; measured best between 0.4 and 0.7."""

_LARGEST_FACTOR = 100.0
_READERS = {
    "attention": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "output": ("self_attn.o_proj",),
    "feed": ("mlp.gate_proj", "mlp.up_proj"),
    "down": ("mlp.down_proj",),
}


def smooth(weights: Weights, shape: LlamaShape, texts: Sequence[Tokens]) -> Weights:
    """Weights of the same function, balanced on the activations that ``texts`` cause.

    The given weights are left as they are; unchanged tensors are shared with the result.
    """
    powers = _channel_powers(weights, shape, texts)
    smoothed = dict(weights)
    for layer in sorted(set(shape.order)):
        for part, readers in _READERS.items():
            names = [f"model.layers.{layer}.{reader}.weight" for reader in readers]
            factors = _factors(powers[layer, part], [smoothed[name] for name in names])
            if part == "output":
                factors = _same_within_groups(factors, shape)
            for name in names:
                smoothed[name] = smoothed[name] * factors
            _divide_writer(smoothed, shape, layer, part, factors)
    return smoothed


def _factors(power: Array, readers: Sequence[Array]) -> Array:
    size = np.sqrt(np.maximum(power, 1e-10))
    weight = np.maximum(np.max([np.abs(reader).max(axis=0) for reader in readers], axis=0), 1e-5)
    factors = size**MIGRATION / weight ** (1 - MIGRATION)
    factors /= np.exp(np.log(factors).mean())
    clipped: Array = np.clip(factors, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR).astype(np.float32)
    return clipped


def _same_within_groups(factors: Array, shape: LlamaShape) -> Array:
    """One factor for all heads that read the same value channel: their geometric mean."""
    grouped = factors.reshape(shape.shared_heads, -1, shape.head_width)
    shared = np.exp(np.log(grouped).mean(axis=1, keepdims=True))
    return np.broadcast_to(shared, grouped.shape).reshape(-1)


def _divide_writer(
    weights: Weights, shape: LlamaShape, layer: int, part: str, factors: Array
) -> None:
    start = f"model.layers.{layer}."
    if part in ("attention", "feed"):
        norm = "input_layernorm" if part == "attention" else "post_attention_layernorm"
        weights[f"{start}{norm}.weight"] = weights[f"{start}{norm}.weight"] / factors
        return
    if part == "output":
        writer = f"{start}self_attn.v_proj.weight"
        factors = factors.reshape(shape.shared_heads, -1, shape.head_width)[:, 0].reshape(-1)
    else:
        writer = f"{start}mlp.up_proj.weight"
    weights[writer] = weights[writer] / factors[:, None]


def _channel_powers(
    weights: Weights, shape: LlamaShape, texts: Sequence[Tokens]
) -> dict[tuple[int, str], Array]:
    """The sum of squares of every channel that a linear layer reads, over all tokens and passes."""
    sums: dict[tuple[int, str], Array] = {}
    for text in texts:
        hidden = weights["model.embed_tokens.weight"][list(text)]
        turns = _turns(len(text), shape)
        for layer in shape.order:
            hidden, seen = _layer(weights, f"model.layers.{layer}.", hidden, turns, shape)
            for part, activations in seen.items():
                power = np.sum(activations**2, axis=0)
                sums[layer, part] = sums[layer, part] + power if (layer, part) in sums else power
    return sums


def _layer(
    weights: Weights,
    start: str,
    hidden: Array,
    turns: tuple[Array, Array],
    shape: LlamaShape,
) -> tuple[Array, dict[str, Array]]:
    """One layer in plain numpy: the hidden states after it, and what its linear layers read."""

    def linear(name: str, values: Array) -> Array:
        return values @ weights[f"{start}{name}.weight"].T

    attention = _norm(hidden, weights[f"{start}input_layernorm.weight"], shape)
    query, key, value = (linear(name, attention) for name in _READERS["attention"])
    output = _attend(query, key, value, turns, shape)
    hidden = hidden + linear("self_attn.o_proj", output)
    feed = _norm(hidden, weights[f"{start}post_attention_layernorm.weight"], shape)
    gate = linear("mlp.gate_proj", feed)
    down = gate / (1 + np.exp(-gate)) * linear("mlp.up_proj", feed)
    hidden = hidden + linear("mlp.down_proj", down)
    return hidden, {"attention": attention, "output": output, "feed": feed, "down": down}


def _norm(hidden: Array, weight: Array, shape: LlamaShape) -> Array:
    power = np.mean(hidden**2, axis=-1, keepdims=True)
    scaled: Array = hidden / np.sqrt(power + np.float32(shape.epsilon)) * weight
    return scaled


def _turns(length: int, shape: LlamaShape) -> tuple[Array, Array]:
    cosines, sines = rotary_tables(shape, length)
    return np.tile(cosines, 2)[:, None], np.tile(sines, 2)[:, None]


def rotary_tables(shape: LlamaShape, length: int) -> tuple[Array, Array]:
    """Cosines and sines [length, head_width / 2] of the rotary position embedding."""
    speeds = shape.rope_base ** (-np.arange(0, shape.head_width, 2) / shape.head_width)
    angles = np.outer(np.arange(length), speeds)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _attend(
    query: Array, key: Array, value: Array, turns: tuple[Array, Array], shape: LlamaShape
) -> Array:
    length = len(query)
    queries = _rotate(query.reshape(length, shape.heads, -1), turns)
    keys = _rotate(key.reshape(length, shape.shared_heads, -1), turns)
    values = value.reshape(length, shape.shared_heads, -1)
    later: Array = np.triu(np.full((length, length), -np.inf, np.float32), 1)
    narrow = np.float32(shape.head_width**-0.5)
    outputs = []
    for head in range(shape.heads):
        source = head * shape.shared_heads // shape.heads
        scores = queries[:, head] @ keys[:, source].T * narrow + later
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        outputs.append(shares / shares.sum(axis=1, keepdims=True) @ values[:, source])
    return np.concatenate(outputs, axis=1)


def _rotate(values: Array, turns: tuple[Array, Array]) -> Array:
    cosines, sines = turns
    half = values.shape[-1] // 2
    turned = np.concatenate([-values[..., half:], values[..., :half]], axis=-1)
    return (values * cosines + turned * sines).astype(np.float32, copy=False)
