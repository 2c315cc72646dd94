"""A Llama decoder layer with fewer, larger steps than transformers' own.

Queries, keys and values come from one product, gate and up projection from another: the same
numbers, read from memory once instead of three times and twice, forward and backward. What stands
between products is fused. Only for layers without biases or adapters. The weights stay where
transformers keeps them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from thisthat.train.attention import Attend
from thisthat.train.fused_ops import added_norm, gated, rounded, turned

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
    added: Tensor | None,
    weights: Layer,
    angles: tuple[Tensor, Tensor],
    attend: Attend,
    epsilon: float,
    eight_bit: bool,
    slots: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Two tensors whose sum is the layer's output for hidden + added, all of them tokens x size.

    They are added where the next norm reads them. The two ``angles`` are cosine and sine, tokens of
    a row x width of a head. With ``eight_bit`` linear layers see their inputs and weights rounded
    to eight bits. ``slots`` are the tokens whose output is wanted, where it is not all of them.
    """
    before, query, key, value, out, gate, up, down, after = weights
    width = angles[0].shape[-1]
    seen = rounded if eight_bit else _as_it_is
    normed, hidden = added_norm(hidden, added, before, epsilon)
    joined = linear(seen(normed), seen(torch.cat((query, key, value))))
    heads = turned(joined, *angles, len(query) // width, len(key) // width)
    attended = attend(*heads).reshape(len(hidden), -1)
    if slots is not None:
        hidden, attended = (tensor.index_select(0, slots) for tensor in (hidden, attended))
    normed, hidden = added_norm(hidden, linear(seen(attended), seen(out)), after, epsilon)
    opened = gated(linear(seen(normed), seen(torch.cat((gate, up)))))
    return hidden, linear(seen(opened), seen(down))


def run_joined(
    trunk: Any,
    order: list[int],
    hidden: Tensor,
    angles: tuple[Tensor, Tensor],
    attend: Attend,
    eight_bit: bool,
    slots: Tensor,
) -> Tensor:
    """All layers in ``order`` over ``hidden`` (rows x tokens x size): their output at ``slots``.

    Slots count through all tokens. What the last layer does after its attention is done at slots
    alone: nothing reads the other tokens any more.
    """
    cosine, sine = (angle.squeeze(0) for angle in angles)
    flat = hidden.flatten(0, 1)
    added = None
    for number, index in enumerate(order, 1):
        flat, added = joined_layer(
            flat,
            added,
            weights_of(trunk.layers[index]),
            (cosine, sine),
            attend,
            trunk.config.rms_norm_eps,
            eight_bit,
            slots if number == len(order) else None,
        )
    return flat if added is None else flat + added


def _as_it_is(rows: Tensor) -> Tensor:
    return rows


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
