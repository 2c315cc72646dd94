"""The attention mask of a batch of trees: branches see the trunk and themselves, not each other.

Knows segments, not tokens: 0 is the trunk, 1, 2, … are the branches in order, PADDING is nothing;
and for each place the first one that sees it, which is itself unless it is open.
"""

from __future__ import annotations

import torch
from torch import Tensor

PADDING = -1


def tree_mask(
    segments: Tensor, since: Tensor, kept: Tensor, kept_width: int, dtype: torch.dtype
) -> Tensor:
    """An additive mask [batch, 1, width, kept_width + width].

    ``segments`` and ``since`` are [batch, width]; ``since`` is never after the place itself.
    ``kept`` [batch] says how many of the ``kept_width`` earlier positions each row really has.
    Every position sees at least itself, so that padding never gives a row without any key.
    """
    batch, width = segments.shape
    steps = torch.arange(width, device=segments.device)
    begun = since[:, None, :] <= steps[:, None]
    shown = segments[:, None, :]
    same_path = (shown == 0) | (shown == segments[:, :, None])
    seen = begun & same_path
    if kept_width:
        before = torch.arange(kept_width, device=segments.device) < kept[:, None]
        seen = torch.cat([before[:, None, :].expand(batch, width, kept_width), seen], dim=2)
    mask = torch.zeros(seen.shape, dtype=dtype, device=segments.device)
    return mask.masked_fill_(~seen, torch.finfo(dtype).min)[:, None]


def path_mask(since: Tensor, dtype: torch.dtype) -> Tensor:
    """An additive mask [batch, 1, width, width] of paths without branches, nothing read before."""
    nothing = since.new_zeros(since.shape[0])
    return tree_mask(torch.zeros_like(since), since, nothing, 0, dtype)
