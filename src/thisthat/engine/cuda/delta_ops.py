"""``Ops`` of gated delta layers through the Triton kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from thisthat.engine.cuda import delta_kernels
from thisthat.engine.cuda.launch import STEP, precision_of
from thisthat.engine.cuda.ops import DeviceTables, KeptStates
from thisthat.engine.cuda.packed_batch import BLOCK, LEAF_COLUMNS, NOTHING_BEFORE
from thisthat.engine.cuda.shapes import DeltaShape

FULL_DEVICE = 1_024
"""Programs beyond which those waiting for memory are covered by others, and need no look ahead."""


class DeltaOps:
    """Convolution, recurrent states along the paths of a tree, and their norm."""

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
        precision = precision_of(projected)
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
