"""``Ops`` of attention through the Triton kernels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from thisthat.engine.cuda import attention_kernels
from thisthat.engine.cuda.launch import STEP, power_of_two, precision_of
from thisthat.engine.cuda.ops import Angles, DeviceTables
from thisthat.engine.cuda.packed_batch import BLOCK, BLOCK_COLUMNS
from thisthat.engine.cuda.shapes import AttentionShape

LOG2_E = math.log2(math.e)


class AttentionOps:
    """Rotary positions, and attention within a tree of tokens."""

    def rope(
        self,
        projected: Tensor,
        shape: AttentionShape,
        angles: Angles,
        weights: Tensor | None,
        tables: DeviceTables,
        prefix_kv: Tensor | None,
    ) -> Tensor:
        """See Ops."""
        tokens = projected.shape[0]
        heads = shape.heads + shape.key_heads
        out = torch.empty(
            (tokens, heads, shape.size), dtype=projected.dtype, device=projected.device
        )
        rest = shape.size - shape.rotated
        attention_kernels.rope_kernel[(-(-tokens // STEP), heads)](
            projected,
            *angles,
            angles[0] if weights is None else weights,
            tables.keep_at,
            out if prefix_kv is None else prefix_kv,
            out,
            tokens,
            projected.shape[1],
            shape.query_stride,
            shape.first_key,
            shape.first_value,
            0 if prefix_kv is None else prefix_kv.shape[1],
            shape.epsilon,
            HEADS=shape.heads,
            ALL_HEADS=heads,
            SIZE=shape.size,
            HALF=shape.rotated // 2,
            PADDED=power_of_two(rest) if rest else 0,
            NORMED=weights is not None,
            KEPT=prefix_kv is not None,
            STEP=STEP,
            num_warps=4,
        )
        return out

    def attend(
        self,
        heads: Tensor,
        projected: Tensor,
        shape: AttentionShape,
        tables: DeviceTables,
        prefix_kv: Tensor | None,
    ) -> Tensor:
        """See Ops."""
        tokens = projected.shape[0]
        out = torch.empty(
            (tokens, shape.heads * shape.size), dtype=projected.dtype, device=projected.device
        )
        wide = shape.size > 128
        exact = projected.dtype == torch.float32
        attention_kernels.attend_kernel[(tables.blocks.shape[0], shape.heads)](
            heads,
            projected,
            out if prefix_kv is None else prefix_kv,
            tables.blocks,
            tables.since,
            tables.until,
            out,
            projected.shape[1],
            shape.query_stride,
            shape.first_value,
            0 if prefix_kv is None else prefix_kv.shape[1],
            shape.scale * LOG2_E,
            HEADS=shape.heads,
            KEY_HEADS=shape.key_heads,
            SIZE=shape.size,
            GATED=shape.gated,
            KEPT=prefix_kv is not None,
            BLOCK_COLUMNS=BLOCK_COLUMNS,
            ROWS=BLOCK,
            KEYS=16 if exact and wide else 32,
            PRECISION=precision_of(projected),
            # Not 8: one warp group covers the 64 rows. With 8, float32 heads of 256 fault on an
            # H200 (Triton 3.6: illegal access), perhaps as in triton#10629: products of 8 keys.
            num_warps=4,
            num_stages=1 if exact else (2 if wide else 3),
        )
        return out
