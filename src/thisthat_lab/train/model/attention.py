"""Attention over packed or padded rows in torch's kernels: a token sees what its row lets it see.

For what ``rows_attention`` is not for. Packed causal rows take the flash kernel of the device.
Packed rows with an open state take flexible attention under a mask of blocks, which is drawn once
per batch and serves every layer. On a CPU, and where no gradient is wanted, packed rows are
attended to one by one. Padded rows take whatever kernel for dense batches is fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from inspect import signature
from itertools import pairwise
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from thisthat_lab.train.kernels.fused_ops import roped

ATTENTION = "packed_rows"
_BLOCK = 128

# cuDNN's kernels for dense causal rows take 0.6 of the time of the flash ones on an H200.
_DENSE = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]

Packed: TypeAlias = tuple[Tensor, int, Tensor | None, BlockMask | None]
"""Bounds of the rows, their longest, ``since`` and the mask of blocks; for compiled layers."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What the tokens of a batch see, on the device.

    ``bounds`` are the places where packed rows begin, ``longest`` the most tokens of one; without
    bounds the rows are padded. ``since`` is, for every token, the first that sees it, counted
    like the tokens; in a row it never falls. Without it every token is seen by those after it
    alone.
    """

    bounds: Tensor | None = None
    longest: int = 0
    since: Tensor | None = None


CAUSAL = Sight()


def padded_mask(since: Tensor) -> Tensor:
    """Which tokens see which, rows x 1 x tokens x tokens, for padded rows."""
    places = torch.arange(since.shape[1], device=since.device)
    return (since[:, None, :] <= places[:, None])[:, None]


class BlockMasks:
    """Masks of blocks for sequences of one length.

    The mask's function and the tensors it reads stay the same from batch to batch, so that layers
    are compiled once; a mask is good until the next one is drawn.
    """

    def __init__(self, length: int, device: torch.device) -> None:
        self._length = length
        self._row = torch.zeros(length, dtype=torch.int32, device=device)
        self._since = torch.zeros(length, dtype=torch.int32, device=device)
        row, since = self._row, self._since

        def sees(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return (row[query] == row[key]) & (since[key] <= query)

        self._sees = sees

    def draw(self, bounds: Tensor, since: Tensor) -> BlockMask:
        """The mask of one batch."""
        length = self._length
        places = torch.arange(length, device=bounds.device, dtype=bounds.dtype)
        self._row.copy_(torch.searchsorted(bounds, places, right=True) - 1)
        self._since.copy_(since)
        first_row, last_row = _ends(self._row)
        padded = torch.nn.functional.pad(self._since, (0, -length % _BLOCK), value=length)
        earliest = padded.view(-1, _BLOCK).amin(1)
        latest = padded.view(-1, _BLOCK).amax(1)
        starts = torch.arange(len(earliest), device=bounds.device) * _BLOCK
        meet = (first_row[None] <= last_row[:, None]) & (first_row[:, None] <= last_row[None])
        some = meet & (earliest[None] < starts[:, None] + _BLOCK)
        one_row = first_row == last_row
        same = one_row[None] & one_row[:, None] & (first_row[None] == first_row[:, None])
        every = same & (latest[None] <= starts[:, None])
        partial = some & ~every
        # The constructor, because ``from_kv_blocks`` turns the lists around in ten times the time.
        return BlockMask(
            (length, length),
            *_ordered(partial),
            *_ordered(every),
            *_ordered(partial.mT),
            *_ordered(every.mT),
            BLOCK_SIZE=(_BLOCK, _BLOCK),
            mask_mod=self._sees,
        )


def _ends(row: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the last row of every block."""
    starts = torch.arange(0, len(row), _BLOCK, device=row.device)
    return row[starts], row[(starts + _BLOCK - 1).clamp_max(len(row) - 1)]


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many of the blocks in its row every block needs, and which, those needed first."""
    needed = dense.to(torch.int32)
    order = torch.argsort(needed, dim=-1, descending=True, stable=True).to(torch.int32)
    return needed.sum(-1, dtype=torch.int32)[None, None], order[None, None].contiguous()


def attend(
    query: Tensor, key: Tensor, value: Tensor, packed: Packed, scaling: float | None
) -> Tensor:
    """Attention within each row; all tensors are tokens x heads x width."""
    bounds, longest, since, mask = packed
    if mask is not None:
        heads = [tensor.transpose(0, 1)[None] for tensor in (query, key, value)]
        # Not compiled, it holds the scores of all pairs of tokens.
        alone = query.is_cuda and not torch.compiler.is_compiling()
        flexible: Any = _compiled_flexible() if alone else flex_attention
        found: Tensor = flexible(
            heads[0], heads[1], heads[2], block_mask=mask, scale=scaling, enable_gqa=True
        )
        return found.squeeze(0).transpose(0, 1)
    if since is not None or not query.is_cuda:
        return _row_by_row(query, key, value, bounds, since, scaling)
    flash = torch.ops.aten._flash_attention_forward(
        query, key, value, bounds, bounds, longest, longest, 0.0, True, False, scale=scaling
    )
    attended: Tensor = flash[0]
    return attended


@cache
def _compiled_flexible() -> Callable[..., Any]:
    return torch.compile(flex_attention, dynamic=False)


def _row_by_row(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bounds: Tensor,
    since: Tensor | None,
    scaling: float | None,
) -> Tensor:
    outputs = []
    edges = sorted(set(bounds.tolist()))
    for start, end in pairwise(edges):
        mask = None
        if since is not None:
            mask = padded_mask(since[None, start:end] - start)[0]
        attended = scaled_dot_product_attention(
            query[start:end].transpose(0, 1),
            key[start:end].transpose(0, 1),
            value[start:end].transpose(0, 1),
            attn_mask=mask,
            is_causal=mask is None,
            scale=scaling,
            enable_gqa=True,
        )
        outputs.append(attended.transpose(0, 1))
    return torch.cat(outputs)


def attend_padded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """Attention within padded rows, causal or under a mask from ``padded_mask``.

    All tensors are rows x tokens x heads x width.
    """
    query, key, value = (tensor.transpose(1, 2) for tensor in (query, key, value))
    times = query.shape[1] // key.shape[1]
    if query.is_cuda and (mask is not None or query.dtype == torch.float32):
        # The kernels with masks and for float32 do not share a key head between query heads.
        key, value = (tensor.repeat_interleave(times, dim=1) for tensor in (key, value))
        times = 1
    found = scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=mask is None, enable_gqa=times > 1
    )
    return found.transpose(1, 2)


class PlainAttention:
    """Attention of a joined layer through torch's kernels, for packed rows or padded ones.

    Packed rows stand in a single row. ``angles`` are cosine and sine, tokens of a row x width of
    a head.
    """

    def __init__(
        self,
        packed: Packed | None,
        mask: Tensor | None,
        angles: tuple[Tensor, Tensor],
        heads: tuple[int, int],
    ) -> None:
        self._packed = packed
        self._mask = mask
        self._angles = angles
        self._heads = heads

    def __call__(self, joined: Tensor, slots: Tensor | None) -> Tensor:
        """What the queries see, at all tokens or at slots."""
        query, key, value = roped(joined, *self._angles, *self._heads)
        if self._packed is None:
            found = attend_padded(query, key, value, self._mask)
        else:
            query, key, value = (tensor.squeeze(0) for tensor in (query, key, value))
            found = attend(query, key, value, self._packed, None)
        found = found.reshape(len(joined), -1)
        return found if slots is None else found.index_select(0, slots)


def padded_kernels(device: torch.device, masked: bool) -> AbstractContextManager[Any]:
    """While it is entered, forward passes over padded rows take the fastest kernel that is right.

    Under a mask that is not cuDNN's: its gradients can be no numbers there (pytorch#196678).
    """
    if device.type != "cuda":
        return nullcontext()
    if masked:
        return sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH])
    if "set_priority" in signature(sdpa_kernel).parameters:
        return sdpa_kernel(_DENSE, set_priority=True)
    return sdpa_kernel([kernel for kernel in _DENSE if kernel != SDPBackend.CUDNN_ATTENTION])


def packed_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    *,
    packed: Packed,
    **_: Any,
) -> tuple[Tensor, None]:
    """``attend`` in the form transformers calls attention.

    ``query`` is 1 x heads x tokens x width; keys and values may have fewer heads.
    """
    query, key, value = (tensor.squeeze(0).transpose(0, 1) for tensor in (query, key, value))
    return attend(query, key, value, packed, scaling).unsqueeze(0), None


def register_attention() -> None:
    """Make ``packed_attention`` known to transformers under its name."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, packed_attention)
