"""The feed-forward part of a joined layer with products of eight-bit floats.

Five of its six products, forward and backward, are of eight-bit numbers on both sides, with one
scale for a whole matrix or for each of its rows. The residual, what the gate sees and gives, and
the gradient of the last weights stay in bfloat16. ``why_not_float8`` says for which models.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function

from thisthat_lab.train.kernels.fused_ops import why_not_proven

GRAIN = 16
"""Every side of a product of eight-bit numbers is a multiple of this."""


def why_not_float8(trunk: Any, joined: bool) -> str | None:
    """Why the feed-forward parts of a decoder cannot be in eight-bit floats, or None."""
    if not joined:
        return "is for plain llama layers, trained as a whole and without checkpointing"
    if trunk.dtype != torch.bfloat16:
        return f"needs model.dtype 'bfloat16', not {str(trunk.dtype).removeprefix('torch.')!r}"
    for name in ("hidden_size", "intermediate_size"):
        size = getattr(trunk.config, name)
        if size % GRAIN:
            return f"needs multiples of {GRAIN}; the model's {name} is {size}"
    return why_not_proven(trunk.device)


def fed8(
    hidden: Tensor,
    added: Tensor,
    after: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
    epsilon: float,
) -> tuple[Tensor, Tensor]:
    """hidden + added, and what the feed-forward part adds to that; all are tokens x size.

    ``after`` is the weight of the norm before it. Tokens and sizes are multiples of GRAIN.
    """
    made = _Fed.apply(hidden, added, after, gate, up, down, epsilon)  # type: ignore[no-untyped-call]
    return cast("tuple[Tensor, Tensor]", made)


class _Fed(Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        added: Tensor,
        after: Tensor,
        gate: Tensor,
        up: Tensor,
        down: Tensor,
        epsilon: float,
    ) -> tuple[Tensor, Tensor]:
        from thisthat_lab.train.kernels import float8_launches as launches

        total, normed, scales = launches.norm(hidden, added, after, epsilon)
        opening = launches.weights(gate, up)
        both = launches.product(normed, opening)
        opened, opened8 = launches.gate(both)
        closing = launches.weights(down)
        fed = launches.product(opened8, closing)
        eight_bit = (
            part for each in (normed, opening, closing) for part in (each.matrix, each.inverse)
        )
        ctx.save_for_backward(total, after, scales, both, opened, *eight_bit)
        return total, fed

    @staticmethod
    def backward(ctx: Any, d_total: Tensor, d_fed: Tensor) -> tuple[Tensor | None, ...]:
        from thisthat_lab.train.kernels import float8_launches as launches
        from thisthat_lab.train.kernels import fused_launches

        total, after, scales, both, opened, *eight_bit = ctx.saved_tensors
        normed, opening, closing = (
            launches.Scaled(*pair) for pair in zip(eight_bit[::2], eight_bit[1::2], strict=True)
        )
        d_fed8, largest = launches.by_rows(d_fed)
        d_opened = launches.product(d_fed8, closing.transposed())
        d_down = d_fed.t() @ opened
        d_both = launches.gate_back(both, d_opened, largest)
        d_normed = launches.product(d_both, opening.transposed())
        d_gate, d_up = launches.product(d_both.transposed(), normed.transposed(), exact=True).chunk(
            2
        )
        d_hidden, d_after = fused_launches.norm_back(total, after, scales, d_normed, d_total)
        return d_hidden, d_hidden, d_after, d_gate, d_up, d_down, None
