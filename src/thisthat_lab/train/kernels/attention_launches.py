"""Attention over packed rows through its Triton kernels. Knows launch shapes, not what they mean.

``joined`` is tokens x (query, key and value heads one after another), ``out`` tokens x query heads.
"""

from __future__ import annotations

import torch
from torch import Tensor

from thisthat_lab.train.kernels import attention_kernels as kernels
from thisthat_lab.train.model.open_rows import OpenRows
from thisthat_lab.train.model.row_blocks import BLOCK, RowBlocks

# Measured on an H200 with heads 64 wide; other stages and blocks of 32 and 128 were slower.
_STAGES = {"forward": 3, "query": 2, "key": 3}
_WIDE = 64


def forward(
    joined: Tensor,
    blocks: RowBlocks,
    opened: OpenRows | None,
    cos: Tensor,
    sin: Tensor,
    heads: int,
    key_heads: int,
) -> tuple[Tensor, Tensor]:
    """What every query sees, and for ``backward`` the logarithms of its sums, heads x room.

    Without ``opened`` a query sees itself and what is before it. Queries and keys are rotated to
    their positions where they stand.
    """
    tokens = len(joined)
    width = cos.shape[-1]
    out = torch.empty((tokens, heads * width), dtype=joined.dtype, device=joined.device)
    table = blocks.backward
    room = BLOCK * len(table)
    logs = torch.empty((heads, room), dtype=torch.float32, device=joined.device)
    shape = {"HEADS": heads, "KEY_HEADS": key_heads, "WIDTH": width, "BLOCK": BLOCK}
    kernels.rope_keys_kernel[(key_heads, len(table))](joined, table, cos, sin, **shape)
    kernels.attend_kernel[(heads, len(table))](
        joined,
        out,
        logs,
        table,
        None if opened is None else opened.until,
        cos,
        sin,
        room,
        width**-0.5,
        STAGES=_STAGES["forward"],
        num_warps=_warps(width),
        **shape,
    )
    return out, logs


def backward(
    joined: Tensor,
    out: Tensor,
    logs: Tensor,
    d_out: Tensor,
    blocks: RowBlocks,
    opened: OpenRows | None,
    cos: Tensor,
    sin: Tensor,
) -> Tensor:
    """The gradient of ``joined`` as it was before it was rotated."""
    heads, room = logs.shape
    width = cos.shape[-1]
    key_heads = (joined.shape[1] // width - heads) // 2
    d_joined = torch.empty_like(joined)
    d_out = d_out.contiguous()
    alongs = torch.empty_like(logs)
    shape = {"HEADS": heads, "KEY_HEADS": key_heads, "WIDTH": width, "BLOCK": BLOCK}
    kernels.back_query_kernel[(heads, len(blocks.backward))](
        joined,
        out,
        d_out,
        logs,
        alongs,
        d_joined,
        blocks.backward,
        None if opened is None else opened.until,
        cos,
        sin,
        room,
        width**-0.5,
        STAGES=_STAGES["query"],
        num_warps=_warps(width),
        **shape,
    )
    kernels.back_key_kernel[(key_heads, len(blocks.forward))](
        joined,
        d_out,
        logs,
        alongs,
        d_joined,
        blocks.forward,
        None if opened is None else opened.since,
        cos,
        sin,
        room,
        width**-0.5,
        STAGES=_STAGES["key"],
        num_warps=_warps(width),
        **shape,
    )
    return d_joined


def _warps(width: int) -> int:
    return 4 if width <= _WIDE else 8
