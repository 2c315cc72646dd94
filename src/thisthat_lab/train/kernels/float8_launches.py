"""The steps of a feed-forward part in eight-bit floats, on CUDA. Knows launch shapes and types."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from thisthat_lab.train.kernels import float8_kernels as kernels
from thisthat_lab.train.kernels.launch_sizes import pieces, power_of_two

FINE, WIDE = torch.float8_e4m3fn, torch.float8_e5m2
"""More bits for numbers of one size, or fewer for numbers of many sizes."""

_MOST = {kind: torch.finfo(kind).max for kind in (FINE, WIDE)}
_TILE = 4096
_ROWS = 4
_GATE_WIDTH = 512
_TRANSPOSED_ROWS, _TRANSPOSED_WIDTH = 64, 128


@dataclass(frozen=True, slots=True)
class Scaled:
    """A matrix in eight bits, and what its numbers are to be multiplied by.

    ``inverse`` is one number for the whole matrix, or a column with one for every row.
    """

    matrix: Tensor
    inverse: Tensor

    def transposed(self) -> Scaled:
        """The transpose, its rows together in memory; for a matrix with one scale."""
        rows, size = self.matrix.shape
        out = torch.empty((size, rows), dtype=self.matrix.dtype, device=self.matrix.device)
        # As bytes: of numbers that it has just rounded, Triton 3.6 turns some into others.
        kernels.transpose_kernel[(pieces(rows, _TRANSPOSED_ROWS), pieces(size, _TRANSPOSED_WIDTH))](
            self.matrix.view(torch.uint8),
            out.view(torch.uint8),
            rows,
            size,
            ROWS=_TRANSPOSED_ROWS,
            WIDTH=_TRANSPOSED_WIDTH,
            num_warps=8,
        )
        return Scaled(out, self.inverse)


def product(left: Scaled, right: Scaled, exact: bool = False) -> Tensor:
    """left x right transposed, in bfloat16; ``exact`` sums in float32 throughout.

    ``right`` is scaled as a whole, ``left`` as a whole or by rows.
    """
    scale = right.inverse
    if left.inverse.ndim == 2:
        scale = scale.expand(1, len(right.matrix)).contiguous()
    return torch._scaled_mm(
        left.matrix,
        right.matrix.t(),
        left.inverse,
        scale,
        out_dtype=torch.bfloat16,
        use_fast_accum=not exact,
    )


def weights(*parts: Tensor) -> Scaled:
    """Matrices one below the other, under one scale."""
    device = parts[0].device
    largest = torch.stack(torch._foreach_norm(list(parts), float("inf"))).amax()
    out = torch.empty(
        (sum(len(part) for part in parts), parts[0].shape[1]), dtype=FINE, device=device
    )
    inverse = _number(device)
    first = 0
    for part in parts:
        kernels.weight_kernel[(pieces(part.numel(), _TILE),)](
            part,
            largest,
            out[first:],
            inverse,
            part.numel(),
            MOST=_MOST[FINE],
            TILE=_TILE,
            num_warps=4,
        )
        first += len(part)
    return Scaled(out, inverse)


def norm(
    hidden: Tensor, added: Tensor, weight: Tensor, epsilon: float
) -> tuple[Tensor, Scaled, Tensor]:
    """hidden + added, its RMS norm, and each token's reciprocal RMS."""
    hidden = hidden.contiguous()
    rows, size = hidden.shape
    total = torch.empty_like(hidden)
    out = torch.empty((rows, size), dtype=FINE, device=hidden.device)
    scales = torch.empty(rows, dtype=torch.float32, device=hidden.device)
    inverse = _number(hidden.device)
    kernels.norm_kernel[(pieces(rows, _ROWS),)](
        hidden,
        added.contiguous(),
        weight,
        total,
        out,
        scales,
        inverse,
        rows,
        size,
        epsilon,
        MOST=_MOST[FINE],
        ROWS=_ROWS,
        WIDTH=power_of_two(size),
        num_warps=4,
    )
    return total, Scaled(out, inverse), scales


def gate(both: Tensor) -> tuple[Tensor, Scaled]:
    """silu(first half) * second half, as it is and in eight bits by rows."""
    rows, size = both.shape[0], both.shape[1] // 2
    out = torch.empty((rows, size), dtype=both.dtype, device=both.device)
    scaled, inverses = _by_rows(out)
    kernels.gate_kernel[(pieces(rows, _ROWS),)](
        both,
        out,
        scaled,
        inverses,
        rows,
        size,
        MOST=_MOST[FINE],
        ROWS=_ROWS,
        WIDTH=power_of_two(size),
        num_warps=8,
    )
    return out, Scaled(scaled, inverses)


def by_rows(x: Tensor) -> tuple[Scaled, Tensor]:
    """A matrix in eight bits by rows, and its largest number."""
    x = x.contiguous()
    scaled, inverses = _by_rows(x)
    largest = torch.zeros((), dtype=torch.float32, device=x.device)
    rows, size = x.shape
    kernels.rows_kernel[(pieces(rows, _ROWS),)](
        x,
        scaled,
        inverses,
        largest,
        rows,
        size,
        MOST=_MOST[FINE],
        ROWS=_ROWS,
        WIDTH=power_of_two(size),
        num_warps=4,
    )
    return Scaled(scaled, inverses), largest


def gate_back(both: Tensor, d_out: Tensor, largest: Tensor) -> Scaled:
    """The gradient of ``both``; ``largest`` is that of the gradient behind ``d_out``."""
    rows, size = d_out.shape
    d_both = torch.empty((rows, 2 * size), dtype=WIDE, device=both.device)
    inverse = _number(both.device)
    kernels.gate_back_kernel[(pieces(rows, _ROWS), pieces(size, _GATE_WIDTH))](
        both,
        d_out,
        largest,
        d_both,
        inverse,
        rows,
        size,
        MOST=_MOST[WIDE],
        ROWS=_ROWS,
        WIDTH=_GATE_WIDTH,
        num_warps=4,
    )
    return Scaled(d_both, inverse)


def _number(device: torch.device) -> Tensor:
    return torch.empty((), dtype=torch.float32, device=device)


def _by_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    inverses = torch.empty((len(x), 1), dtype=torch.float32, device=x.device)
    return torch.empty(x.shape, dtype=FINE, device=x.device), inverses
