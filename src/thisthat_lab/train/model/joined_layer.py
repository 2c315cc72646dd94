"""A Llama decoder layer with fewer, larger steps than transformers' own.

Queries, keys and values come from one product, gate and up projection from another: the same
numbers, read from memory once instead of three times and twice, forward and backward. What stands
between products is fused. Only for layers without biases or adapters. The weights stay where
transformers keeps them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import linear

from thisthat_lab.train.kernels.fused_ops import added_norm, gated, rounded
from thisthat_lab.train.model.float8_feed import fed8

Layer: TypeAlias = tuple[Tensor, ...]

Attend: TypeAlias = Callable[[Tensor, Tensor | None], Tensor]
"""Attention of a batch: from the product of queries, keys and values (tokens x their heads one
after another), which it may overwrite, to what the queries see, at all tokens or at slots."""

Rounding: TypeAlias = Literal["none", "int8", "float8"]
"""What products see rounded: nothing; inputs and weights of linear layers as the int8 runtime form
has them; or both sides of the feed-forward part's products in eight-bit floats, but for those that
are done at slots alone."""


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


def head_width(config: Any) -> int:
    """How many numbers a head has."""
    width: int | None = getattr(config, "head_dim", None)
    return width or config.hidden_size // config.num_attention_heads


def joined_layer(
    hidden: Tensor,
    added: Tensor | None,
    weights: Layer,
    attend: Attend,
    epsilon: float,
    rounding: Rounding,
    slots: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Two tensors whose sum is the layer's output for hidden + added, all of them tokens x size.

    They are added where the next norm reads them. ``slots`` are the tokens whose output is wanted,
    where it is not all of them.
    """
    before, query, key, value, out, gate, up, down, after = weights
    seen = rounded if rounding == "int8" else _as_it_is
    normed, hidden = added_norm(hidden, added, before, epsilon)
    joined = linear(seen(normed), seen(torch.cat((query, key, value))))
    attended = attend(joined, slots)
    if slots is not None:
        hidden = hidden.index_select(0, slots)
    added = linear(seen(attended), seen(out))
    if rounding == "float8" and slots is None:
        return fed8(hidden, added, after, gate, up, down, epsilon)
    normed, hidden = added_norm(hidden, added, after, epsilon)
    opened = gated(linear(seen(normed), seen(torch.cat((gate, up)))))
    return hidden, linear(seen(opened), seen(down))


def run_joined(
    trunk: Any, order: list[int], hidden: Tensor, attend: Attend, rounding: Rounding, slots: Tensor
) -> Tensor:
    """All layers in ``order`` over ``hidden`` (rows x tokens x size): their output at ``slots``.

    Slots count through all tokens. What the last layer does after its attention is done at slots
    alone: nothing reads the other tokens any more.
    """
    flat = hidden.flatten(0, 1)
    added = None
    for number, index in enumerate(order, 1):
        flat, added = joined_layer(
            flat,
            added,
            weights_of(trunk.layers[index]),
            attend,
            trunk.config.rms_norm_eps,
            rounding,
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
