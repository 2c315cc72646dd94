"""The attention mask of a batch of trees: branches see the trunk and themselves, not each other.

Made from the first place that sees each one, which is itself unless it is open, and the end of
those that do.
"""

from __future__ import annotations

import torch
from torch import Tensor


def tree_mask(
    since: Tensor, until: Tensor, kept: Tensor, kept_width: int, dtype: torch.dtype
) -> Tensor:
    """An additive mask [batch, 1, width, kept_width + width].

    ``since`` and ``until`` are [batch, width]; ``since`` is never after the place itself.
    ``kept`` [batch] says how many of the ``kept_width`` earlier positions each row really has.
    Every position sees at least itself, so that padding never gives a row without any key.
    """
    batch, width = since.shape
    steps = torch.arange(width, device=since.device)[:, None]
    seen = (since[:, None, :] <= steps) & (steps < until[:, None, :])
    if kept_width:
        before = torch.arange(kept_width, device=since.device) < kept[:, None]
        seen = torch.cat([before[:, None, :].expand(batch, width, kept_width), seen], dim=2)
    mask = torch.zeros(seen.shape, dtype=dtype, device=since.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


def path_mask(since: Tensor, dtype: torch.dtype) -> Tensor:
    """An additive mask [batch, 1, width, width] of paths without branches, nothing read before."""
    nothing = since.new_zeros(since.shape[0])
    return tree_mask(since, torch.full_like(since, since.shape[1]), nothing, 0, dtype)
