"""``LayerOps`` in plain torch, for devices without the Triton kernels and as their measure."""

from __future__ import annotations

import torch
from torch import Tensor


def norm(
    hidden: Tensor, added: Tensor | None, weight: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor]:
    """See LayerOps."""
    total = hidden if added is None else hidden + added
    wide = _wide(total)
    scales = torch.rsqrt(wide.square().mean(-1) + epsilon)
    normed = wide * scales.unsqueeze(-1) * _wide(weight)
    return normed.to(hidden.dtype), total, scales


def norm_back(
    total: Tensor, weight: Tensor, scales: Tensor, d_normed: Tensor, d_total: Tensor
) -> tuple[Tensor, Tensor]:
    """See LayerOps."""
    scale = scales.unsqueeze(-1)
    unit = _wide(total) * scale
    from_norm = _wide(d_normed)
    weighted = from_norm * _wide(weight)
    along = (weighted * unit).mean(-1, keepdim=True)
    d_hidden = _wide(d_total) + scale * (weighted - unit * along)
    return d_hidden.to(total.dtype), (from_norm * unit).sum(0).to(weight.dtype)


def rope(
    joined: Tensor, cos: Tensor, sin: Tensor, heads: int, key_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """See LayerOps."""
    length, width = cos.shape
    given = joined.view(-1, length, heads + 2 * key_heads, width)
    query, key, value = torch.tensor_split(given, (heads, heads + key_heads), dim=2)
    return _roped(query, cos, sin), _roped(key, cos, sin), value.clone()


def rope_back(d_query: Tensor, d_key: Tensor, d_value: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """See LayerOps."""
    parts = (_roped(d_query, cos, -sin), _roped(d_key, cos, -sin), d_value)
    return torch.cat(parts, dim=2).flatten(0, 1).flatten(1)


def gate(both: Tensor) -> Tensor:
    """See LayerOps."""
    gate, value = _wide(both).chunk(2, dim=-1)
    return (torch.nn.functional.silu(gate) * value).to(both.dtype)


def gate_back(both: Tensor, d_out: Tensor) -> Tensor:
    """See LayerOps."""
    gate, value = _wide(both).chunk(2, dim=-1)
    given = _wide(d_out)
    opened = torch.sigmoid(gate)
    d_gate = given * value * opened * (1 + gate * (1 - opened))
    return torch.cat((d_gate, given * gate * opened), dim=-1).to(both.dtype)


def round_rows(x: Tensor) -> Tensor:
    """See LayerOps."""
    wide = _wide(x)
    step = (wide.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-12)
    return (torch.round(wide / step) * step).to(x.dtype)


def _roped(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = cos.shape[-1] // 2
    low, high = _wide(heads).chunk(2, dim=-1)
    cosine, sine = (_wide(angle[:, None, :half]) for angle in (cos, sin))
    rotated = (low * cosine - high * sine, high * cosine + low * sine)
    return torch.cat(rotated, dim=-1).to(heads.dtype)


def _wide(tensor: Tensor) -> Tensor:
    """In float32 at least."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
