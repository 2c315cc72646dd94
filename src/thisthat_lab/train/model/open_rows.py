"""What tokens of rows with open states see, as attention's kernels read it: from both sides.

Reckoned on the device without waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class OpenRows:
    """For every token the first that sees it (``since``) and the last that it sees (``until``).

    Both are int32, counted through all tokens, and never fall from one token to the next: whoever
    sees a token sees all of its row before it.
    """

    since: Tensor
    until: Tensor


def open_rows(since: Tensor) -> OpenRows:
    """Both sides from one; ``since`` is int32, a number for every token, and must never fall."""
    tokens = torch.arange(len(since), dtype=torch.int32, device=since.device)
    until = torch.searchsorted(since, tokens, right=True, out_int32=True) - 1
    return OpenRows(since, until)
