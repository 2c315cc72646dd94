"""A Llama decoder layer with fewer, larger multiplications than transformers' own.

Queries, keys and values come from one product, gate and up projection from another: the same
numbers, read from memory once instead of three times and twice, forward and backward. Only for
packed rows and layers without biases or adapters. The weights stay where transformers keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from thisthat.train.attention import Packed, attend

Layer = tuple[Tensor, ...]


def can_join(trunk: Any) -> bool:
    """True when every layer of the trunk is of the plain kind this file computes."""
    config = trunk.config
    if config.model_type != "llama" or config.hidden_act != "silu":
        return False
    linear = [module for layer in trunk.layers for module in _linears(layer)]
    return all(type(module) is torch.nn.Linear and module.bias is None for module in linear)


def weights_of(layer: Any) -> Layer:
    """The tensors of a layer in the order ``joined_layer`` takes them."""
    return (
        layer.input_layernorm.weight,
        *(module.weight for module in _linears(layer)),
        layer.post_attention_layernorm.weight,
    )


def joined_layer(
    hidden: Tensor,
    weights: Layer,
    cos: Tensor,
    sin: Tensor,
    packed: Packed,
    width: int,
    epsilon: float,
    eight_bit: bool,
) -> Tensor:
    """The layer's output for ``hidden`` (tokens x size); heads are ``width`` wide.

    ``cos`` and ``sin`` are tokens x width; ``packed`` says what the tokens see.
    With ``eight_bit`` linear layers see their inputs and weights rounded to eight bits.
    """
    before, query, key, value, out, gate, up, down, after = weights
    linear = _eight_bit_linear if eight_bit else functional.linear
    normed = functional.rms_norm(hidden, hidden.shape[-1:], before, epsilon)
    joined = linear(normed, torch.cat((query, key, value)))
    heads = joined.view(len(hidden), -1, width)
    many, few = query.shape[0] // width, key.shape[0] // width
    queries, keys, values = torch.tensor_split(heads, (many, many + few), dim=1)
    attended = attend(_turned(queries, cos, sin), _turned(keys, cos, sin), values, packed, None)
    hidden = hidden + linear(attended.flatten(-2), out)
    normed = functional.rms_norm(hidden, hidden.shape[-1:], after, epsilon)
    gated, raised = linear(normed, torch.cat((gate, up))).chunk(2, dim=-1)
    return hidden + linear(functional.silu(gated) * raised, down)


def run_joined(
    trunk: Any,
    order: list[int],
    hidden: Tensor,
    angles: tuple[Tensor, Tensor],
    packed: Packed,
    step: Callable[..., Tensor],
    eight_bit: bool,
) -> Tensor:
    """All layers in ``order``; ``step`` is ``joined_layer``, compiled or not."""
    cos, sin = (angle.squeeze(0) for angle in angles)
    flat = hidden.squeeze(0)
    for index in order:
        layer = trunk.layers[index]
        flat = step(
            flat,
            weights_of(layer),
            cos,
            sin,
            packed,
            layer.self_attn.head_dim,
            trunk.config.rms_norm_eps,
            eight_bit,
        )
    return flat.unsqueeze(0)


def _linears(layer: Any) -> list[Any]:
    attention, mlp = layer.self_attn, layer.mlp
    return [
        attention.q_proj,
        attention.k_proj,
        attention.v_proj,
        attention.o_proj,
        mlp.gate_proj,
        mlp.up_proj,
        mlp.down_proj,
    ]


def _eight_bit_linear(given: Tensor, weight: Tensor) -> Tensor:
    return functional.linear(rounded(given), rounded(weight))


def rounded(rows: Tensor) -> Tensor:
    """Every row in whole multiples of its largest number / 127; gradients pass as if it were not.

    The grid of the int8 runtime form: a scale per token for activations, per output for weights.
    """
    wide = rows.detach().float()
    step = (wide.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-12)
    nearest = (torch.round(wide / step) * step).to(rows.dtype)
    return rows + (nearest - rows.detach())


def _turned(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions: tokens x heads x width."""
    first, second = heads.chunk(2, dim=-1)
    return heads * cos.unsqueeze(1) + torch.cat((-second, first), dim=-1) * sin.unsqueeze(1)
