"""Rows of tokens cut into blocks for attention's kernels, reckoned on the device without waiting.

Every row is cut from its own start, so a block never holds tokens of two rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 64


@dataclass(frozen=True, slots=True)
class RowBlocks:
    """Blocks of rows, each told by five numbers: its first token, then of its row the start, the
    end, the first wanted token and the first block, as blocks are numbered in ``forward``.

    Both tensors are blocks x 5, int32, long rows first. ``backward`` has the last block of a row
    first, which has most tokens before it, ``forward`` the first: what takes longest begins
    earliest, but the blocks of a row stand together, because they read the same tokens. A block
    that begins at the end of its row holds nothing.
    """

    forward: Tensor
    backward: Tensor


def blocks_of(bounds: Tensor, tokens: int, wanted: Tensor | None = None) -> RowBlocks:
    """The blocks of rows that begin at ``bounds``, of which the last is the end of all tokens.

    Of rows without wanted tokens, and without ``wanted`` of all rows, everything is wanted; what
    stands in a row before its first wanted token, but for the rest of a block, is not computed.
    """
    starts, ends = bounds[:-1].long(), bounds[1:].long()
    asked = starts
    if wanted is not None:
        row = torch.searchsorted(bounds.long(), wanted, right=True) - 1
        asked = ends.scatter_reduce(0, row, wanted, "amin")
        asked = torch.where(asked < ends, asked, starts)
    order = torch.argsort(ends - starts, descending=True, stable=True)
    starts, ends, asked = starts[order], ends[order], asked[order]
    counts = (ends - starts + BLOCK - 1) // BLOCK
    after = counts.cumsum(0)
    number = torch.arange(tokens // BLOCK + len(starts), device=bounds.device)
    row = torch.searchsorted(after, number, right=True).clamp_max(len(starts) - 1)
    place = number - after[row] + counts[row]
    inside = place < counts[row]
    rows = (starts[row], ends[row], asked[row], after[row] - counts[row])

    def table(places: Tensor) -> Tensor:
        first = torch.where(inside, starts[row] + BLOCK * places, ends[row])
        return torch.stack((first, *rows), dim=1).int()

    return RowBlocks(table(place), table(counts[row] - 1 - place))


def even_bounds(rows: int, length: int, device: torch.device) -> Tensor:
    """The bounds of rows that are all of one length."""
    return torch.arange(0, rows * length + 1, length, dtype=torch.int32, device=device)
