"""Attention of a joined layer over rows in one sequence, as one differentiable operation.

For bfloat16 on CUDA; ``can_attend`` says whether it is for a tensor.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd import Function

from thisthat_lab.train.kernels.fused_ops import why_not_proven
from thisthat_lab.train.model.open_rows import OpenRows, open_rows
from thisthat_lab.train.model.row_blocks import RowBlocks, blocks_of

_WIDTHS = (16, 32, 64, 128)


def can_attend(hidden: Tensor, width: int) -> bool:
    """True when the kernels are there for numbers like these and heads this wide."""
    fits = hidden.dtype == torch.bfloat16 and width in _WIDTHS
    return fits and why_not_proven(hidden.device) is None


class RowsAttention:
    """``Attend`` for the rows of one batch.

    ``bounds`` are the places where rows begin, and the end; ``angles`` are cosine and sine, places
    of a row x width of a head; ``slots`` are the tokens whose output is wanted of the last layer;
    ``since`` is for every token the first that sees it, where any state is open.
    """

    def __init__(
        self,
        bounds: Tensor,
        tokens: int,
        angles: tuple[Tensor, Tensor],
        heads: tuple[int, int],
        slots: Tensor,
        since: Tensor | None,
    ) -> None:
        self._angles = angles
        self._heads = heads
        self._all = blocks_of(bounds, tokens)
        self._last = blocks_of(bounds, tokens, slots)
        self._opened = None if since is None else open_rows(since)

    def __call__(self, joined: Tensor, slots: Tensor | None) -> Tensor:
        """What the queries see, at all tokens or at slots; ``joined`` is overwritten."""
        blocks = self._all if slots is None else self._last
        made = _Attended.apply(joined, blocks, self._opened, *self._angles, *self._heads)  # type: ignore[no-untyped-call]
        out = cast(Tensor, made)
        return out if slots is None else out.index_select(0, slots)


class _Attended(Function):
    @staticmethod
    def forward(
        ctx: Any,
        joined: Tensor,
        blocks: RowBlocks,
        opened: OpenRows | None,
        cos: Tensor,
        sin: Tensor,
        heads: int,
        key_heads: int,
    ) -> Tensor:
        from thisthat_lab.train.kernels import attention_launches

        joined = joined.contiguous()
        out, logs = attention_launches.forward(joined, blocks, opened, cos, sin, heads, key_heads)
        ctx.save_for_backward(joined, out, logs, cos, sin)
        ctx.blocks, ctx.opened = blocks, opened
        return out

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:
        from thisthat_lab.train.kernels import attention_launches

        joined, out, logs, cos, sin = ctx.saved_tensors
        d_joined = attention_launches.backward(
            joined, out, logs, d_out, ctx.blocks, ctx.opened, cos, sin
        )
        return d_joined, None, None, None, None, None, None
