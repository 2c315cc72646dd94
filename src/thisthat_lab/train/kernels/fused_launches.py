"""``LayerOps`` through the Triton kernels. Knows launch shapes, not what they are for."""

from __future__ import annotations

import torch
from torch import Tensor

from thisthat.engine.cuda.token_kernels import norm_kernel
from thisthat_lab.train.kernels import fused_kernels as kernels
from thisthat_lab.train.kernels.launch_sizes import pieces, power_of_two

_TILE = 4096
"""Numbers of each tensor that a program of four warps holds at once."""

_MOST_ROWS = 4
_GATE_WIDTH = 512
_TOKENS = 32
_PROGRAMS = 3
"""Programs per processor that go through rows in turns: as many as have room at the same time."""


def norm(
    hidden: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """See LayerOps."""
    hidden = hidden.contiguous()
    rows, size = hidden.shape
    total = hidden if added is None else torch.empty_like(hidden)
    normed = torch.empty_like(hidden)
    scales = torch.empty(rows, dtype=torch.float32, device=hidden.device)
    block, width, warps = _row_tile(size)
    norm_kernel[(pieces(rows, block),)](
        hidden,
        hidden if added is None else added.contiguous(),
        weight,
        total,
        normed,
        scales,
        rows,
        size,
        epsilon,
        ADDED=added is not None,
        SCALES=True,
        ROWS=block,
        WIDTH=width,
        num_warps=warps,
    )
    return normed, total, scales


def norm_back(
    total: Tensor, weight: Tensor, scales: Tensor, d_normed: Tensor, d_total: Tensor
) -> tuple[Tensor, Tensor]:
    """See LayerOps."""
    rows, size = total.shape
    d_hidden = torch.empty_like(total)
    block, width, warps = _row_tile(size)
    programs = min(pieces(rows, block), _PROGRAMS * _processors(total.device))
    d_weights = torch.empty((programs, size), dtype=torch.float32, device=total.device)
    kernels.norm_back_kernel[(programs,)](
        total,
        weight,
        scales,
        d_normed.contiguous(),
        d_total.contiguous(),
        d_hidden,
        d_weights,
        rows,
        size,
        ROWS=block,
        WIDTH=width,
        num_warps=warps,
    )
    return d_hidden, d_weights.sum(0).to(weight.dtype)


def rope(
    joined: Tensor, cos: Tensor, sin: Tensor, heads: int, key_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """See LayerOps."""
    length, width = cos.shape
    given = joined.contiguous().view(-1, length, heads + 2 * key_heads, width)
    made = tuple(
        torch.empty((len(given), length, many, width), dtype=joined.dtype, device=joined.device)
        for many in (heads, key_heads, key_heads)
    )
    query, key, value = made
    _rope(_by_kind(given, heads, key_heads), made, cos, sin, back=False)
    return query, key, value


def rope_back(d_query: Tensor, d_key: Tensor, d_value: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """See LayerOps."""
    rows, length, heads, width = d_query.shape
    key_heads = d_key.shape[2]
    d_joined = torch.empty(
        (rows * length, (heads + 2 * key_heads) * width), dtype=d_query.dtype, device=d_query.device
    )
    targets = _by_kind(d_joined.view(rows, length, -1, width), heads, key_heads)
    _rope((d_query, d_key, d_value), targets, cos, sin, back=True)
    return d_joined


def gate(both: Tensor) -> Tensor:
    """See LayerOps."""
    both = both.contiguous()
    rows, size = both.shape[0], both.shape[1] // 2
    out = torch.empty((rows, size), dtype=both.dtype, device=both.device)
    kernels.gate_kernel[_gate_grid(rows, size)](
        both, out, rows, size, ROWS=_MOST_ROWS, WIDTH=_GATE_WIDTH, num_warps=4
    )
    return out


def gate_back(both: Tensor, d_out: Tensor) -> Tensor:
    """See LayerOps."""
    both = both.contiguous()
    rows, size = d_out.shape
    d_both = torch.empty_like(both)
    kernels.gate_back_kernel[_gate_grid(rows, size)](
        both,
        d_out.contiguous(),
        d_both,
        rows,
        size,
        ROWS=_MOST_ROWS,
        WIDTH=_GATE_WIDTH,
        num_warps=4,
    )
    return d_both


def round_rows(x: Tensor) -> Tensor:
    """See LayerOps."""
    x = x.contiguous()
    rows, size = x.shape
    out = torch.empty_like(x)
    block, width, warps = _row_tile(size)
    kernels.round_kernel[(pieces(rows, block),)](
        x, out, rows, size, ROWS=block, WIDTH=width, num_warps=warps
    )
    return out


def _rope(
    sources: tuple[Tensor, ...], targets: tuple[Tensor, ...], cos: Tensor, sin: Tensor, back: bool
) -> None:
    """All tensors are rows x tokens x heads x width."""
    length, width = cos.shape
    rows, _, heads, _ = targets[0].shape
    places = [
        given
        for tensor in (*map(_last_together, sources), *targets)
        for given in (tensor, *tensor.stride()[:3])
    ]
    kernels.rope_kernel[(pieces(rows * length, _TOKENS),)](
        *places,
        cos.contiguous(),
        sin.contiguous(),
        rows * length,
        length,
        HEADS=heads,
        KEY_HEADS=targets[1].shape[2],
        HALF=width // 2,
        WIDTH=power_of_two(width // 2),
        BACK=back,
        STEP=_TOKENS,
        num_warps=4,
    )


def _by_kind(joined: Tensor, heads: int, key_heads: int) -> tuple[Tensor, ...]:
    return torch.tensor_split(joined, (heads, heads + key_heads), dim=2)


def _last_together(tensor: Tensor) -> Tensor:
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def _gate_grid(rows: int, size: int) -> tuple[int, int]:
    return pieces(rows, _MOST_ROWS), pieces(size, _GATE_WIDTH)


def _row_tile(size: int) -> tuple[int, int, int]:
    """Rows of a program, the power of two that holds one row, and warps."""
    width = power_of_two(size)
    block = min(_MOST_ROWS, max(1, _TILE // width))
    return block, width, 4 if block * width <= _TILE else 8


def _processors(device: torch.device) -> int:
    if device.type != "cuda":  # Triton's interpreter
        return 1
    return torch.cuda.get_device_properties(device).multi_processor_count
