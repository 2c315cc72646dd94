"""``Ops`` through the Triton kernels. Knows launch shapes, not what they are for."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from thisthat.engine.cuda import attention_kernels, delta_kernels, token_kernels
from thisthat.engine.cuda.ops import (
    FLOAT8,
    LARGEST_FLOAT8,
    Angles,
    DeviceTables,
    KeptStates,
    Rounded,
)
from thisthat.engine.cuda.packed_batch import BLOCK, BLOCK_COLUMNS, LEAF_COLUMNS, NOTHING_BEFORE
from thisthat.engine.cuda.shapes import AttentionShape, DeltaShape

STEP = 16
"""Tokens of a program where tokens do not depend on each other."""

LABEL_STEP = 16
"""Labels of a program; there are few, and so few programs."""

FULL_DEVICE = 1_024
"""Programs beyond which those waiting for memory are covered by others, and need no look ahead."""


LOG2_E = math.log2(math.e)


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def _by_rows(rows: int, size: int) -> tuple[tuple[int], dict[str, int]]:
    """Programs, and the tile of one, where whole rows are needed at once."""
    width = _power_of_two(size)
    # Small rows leave a program waiting for memory: four of them, a warp each, wait together.
    together = 4 if width <= 1024 else 1
    warps = 4 if width <= 2048 else 8
    return (-(-rows // together),), {"ROWS": together, "WIDTH": width, "num_warps": warps}


def _unwritten(rows: int, size: int, like: Tensor) -> Rounded:
    return Rounded(
        torch.empty((rows, size), dtype=FLOAT8, device=like.device),
        torch.empty(rows, dtype=torch.float32, device=like.device),
        like.dtype,
    )


class FusedOps:
    """``Ops`` for CUDA. Head sizes must be powers of two from 16 to 256."""

    def norm(self, x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        """See Ops."""
        rows, size = x.shape
        out = torch.empty_like(x)
        programs, tile = _by_rows(rows, size)
        token_kernels.norm_kernel[programs](
            x, x, weight, x, out, x, rows, size, epsilon, ADDED=False, SCALES=False, **tile
        )
        return out

    def rounded(self, x: Tensor) -> Rounded:
        """See Ops."""
        rows, size = x.shape
        out = _unwritten(rows, size, x)
        programs, tile = _by_rows(rows, size)
        token_kernels.round_kernel[programs](
            x.contiguous(), out.values, out.scales, rows, size, LARGEST=LARGEST_FLOAT8, **tile
        )
        return out

    def rounded_norm(
        self, x: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
    ) -> Rounded:
        """See Ops."""
        rows, size = x.shape
        out = _unwritten(rows, size, x)
        programs, tile = _by_rows(rows, size)
        token_kernels.rounded_norm_kernel[programs](
            x,
            x if added is None else added,
            weight,
            out.values,
            out.scales,
            rows,
            size,
            epsilon,
            ADDED=added is not None,
            LARGEST=LARGEST_FLOAT8,
            **tile,
        )
        return out

    def rounded_gate(self, x: Tensor) -> Rounded:
        """See Ops."""
        rows, both = x.shape
        out = _unwritten(rows, both // 2, x)
        programs, tile = _by_rows(rows, both // 2)
        token_kernels.rounded_gate_kernel[programs](
            x, out.values, out.scales, rows, both // 2, LARGEST=LARGEST_FLOAT8, **tile
        )
        return out

    def rounded_product(self, x: Rounded, weight: Rounded) -> Tensor:
        """See Ops. Inputs and outputs of the weight must be multiples of 16."""
        by_row = functional.ScalingType.RowWise
        return functional.scaled_mm(
            x.values,
            weight.values.t(),
            x.scales[:, None],
            by_row,
            weight.scales[None, :],
            by_row,
            output_dtype=x.form,
            use_fast_accum=True,
        )

    def product(self, x: Tensor, weight: Tensor) -> Tensor:
        """See Ops."""
        rows, size = x.shape
        columns = weight.shape[0]
        out = torch.empty((rows, columns), dtype=torch.float32, device=x.device)
        token_kernels.product_kernel[(-(-rows // STEP), -(-columns // LABEL_STEP))](
            x,
            weight,
            out,
            rows,
            size,
            columns,
            ROWS=STEP,
            COLUMNS=LABEL_STEP,
            STEP=64,
            PRECISION=_precision(x),
            num_warps=2,
            num_stages=3,
        )
        return out

    def gated_product(self, x: Tensor) -> Tensor:
        """See Ops."""
        rows, both = x.shape
        size = both // 2
        width = min(2048, _power_of_two(size))
        out = torch.empty((rows, size), dtype=x.dtype, device=x.device)
        token_kernels.gated_product_kernel[(rows, -(-size // width))](
            x, out, size, WIDTH=width, num_warps=4
        )
        return out

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
            PADDED=_power_of_two(rest) if rest else 0,
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
            PRECISION=_precision(projected),
            # Not 8: one warp group covers the 64 rows. With 8, float32 heads of 256 fault on an
            # H200 (Triton 3.6: illegal access), perhaps as in triton#10629: products of 8 keys.
            num_warps=4,
            num_stages=1 if exact else (2 if wide else 3),
        )
        return out

    def delta(
        self,
        projected: Tensor,
        shape: DeltaShape,
        taps: Tensor,
        log_decay: Tensor,
        decay_bias: Tensor,
        tables: DeviceTables,
        kept: KeptStates | None,
    ) -> Tensor:
        """See Ops."""
        tokens, columns = projected.shape
        mixed = self._convolve(projected, shape, taps, tables, kept)

        def empty(width: int, dtype: torch.dtype = projected.dtype) -> Tensor:
            return torch.empty((tokens, width), dtype=dtype, device=projected.device)

        fresh = empty(shape.value_heads * shape.value_size)
        erased = empty(shape.value_heads * shape.key_size)
        decayed = empty(shape.value_heads, torch.float32)
        precision = _precision(projected)
        sizes: dict[str, Any] = {
            "KEY_HEADS": shape.key_heads,
            "HEADS": shape.value_heads,
            "KEY": shape.key_size,
            "VALUE": shape.value_size,
            "SIZE": BLOCK,
            "PRECISION": precision,
        }
        delta_kernels.delta_chunk_kernel[(tables.chunks.shape[0], shape.value_heads)](
            mixed,
            projected,
            tables.chunks,
            log_decay,
            decay_bias,
            fresh,
            erased,
            decayed,
            columns,
            shape.convolved,
            shape.first_strength,
            shape.first_decay,
            **sizes,
            SOLVE=precision,
            num_warps=4,
        )
        out = empty(shape.value_heads * shape.value_size)
        leaves = tables.leaves.shape[0]
        exact = projected.dtype == torch.float32
        width = min(16 if exact else 64, shape.value_size)
        crowded = leaves * shape.value_heads >= FULL_DEVICE
        delta_kernels.delta_scan_kernel[(leaves, shape.value_heads, shape.value_size // width)](
            mixed,
            fresh,
            erased,
            decayed,
            tables.chunks,
            tables.leaves,
            decayed if kept is None else kept.states,
            out,
            shape.convolved,
            **sizes,
            KEPT=kept is not None,
            LEAF_COLUMNS=LEAF_COLUMNS,
            WIDTH=width,
            num_warps=4,
            num_stages=1 if exact or crowded else 2,
        )
        return out

    def gated_norm(self, x: Tensor, projected: Tensor, shape: DeltaShape, weight: Tensor) -> Tensor:
        """See Ops."""
        out = torch.empty_like(x)
        rows = x.shape[0] * shape.value_heads
        delta_kernels.gated_norm_kernel[(-(-rows // STEP),)](
            x,
            projected,
            weight,
            out,
            rows,
            projected.shape[1],
            shape.convolved,
            shape.epsilon,
            HEADS=shape.value_heads,
            SIZE=shape.value_size,
            STEP=STEP,
            num_warps=4,
        )
        return out

    @staticmethod
    def _convolve(
        projected: Tensor,
        shape: DeltaShape,
        taps: Tensor,
        tables: DeviceTables,
        kept: KeptStates | None,
    ) -> Tensor:
        tokens, columns = projected.shape
        out = torch.empty((tokens, shape.convolved), dtype=projected.dtype, device=projected.device)
        heads = 2 * shape.key_heads + shape.value_heads
        delta_kernels.convolve_kernel[(-(-tokens // STEP), heads)](
            projected,
            taps,
            tables.parents,
            tables.history_at,
            out if kept is None else kept.history,
            out,
            tokens,
            columns,
            shape.convolved,
            shape.key_size**-0.5,
            KEY_HEADS=shape.key_heads,
            SIZE=shape.key_size,
            TAPS=shape.taps,
            KEPT=kept is not None,
            NOTHING=NOTHING_BEFORE,
            STEP=STEP,
            num_warps=4,
        )
        return out


def _precision(x: Tensor) -> str:
    """How the matrix units read float32 numbers: in three parts where the model is float32."""
    return "tf32x3" if x.dtype == torch.float32 else "tf32"
