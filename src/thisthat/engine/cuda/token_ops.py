"""``Ops`` on single tokens through the Triton kernels: norms, gates, products, float8."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from thisthat.engine.cuda import token_kernels
from thisthat.engine.cuda.launch import STEP, power_of_two, precision_of
from thisthat.engine.cuda.ops import FLOAT8, LARGEST_FLOAT8, Rounded

LABEL_STEP = 16
"""Labels of a program; there are few, and so few programs."""


def _by_rows(rows: int, size: int) -> tuple[tuple[int], dict[str, int]]:
    """Programs, and the tile of one, where whole rows are needed at once."""
    width = power_of_two(size)
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


class TokenOps:
    """What is done with every token by itself."""

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
            PRECISION=precision_of(x),
            num_warps=2,
            num_stages=3,
        )
        return out

    def gated_product(self, x: Tensor) -> Tensor:
        """See Ops."""
        rows, both = x.shape
        size = both // 2
        width = min(2048, power_of_two(size))
        out = torch.empty((rows, size), dtype=x.dtype, device=x.device)
        token_kernels.gated_product_kernel[(rows, -(-size // width))](
            x, out, size, WIDTH=width, num_warps=4
        )
        return out
