"""Rows one after another in a single sequence: no padding, and one shape for everything.

Where the device has attention over packed rows (CUDA), every batch is a fair sample of all lengths
and a compiler meets one shape only. Attention between rows is cut at ``bounds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from thisthat.errors import InvalidInputError
from thisthat.train.buckets import Batch, Shape, collate
from thisthat.train.rows import TrainingRow

ATTENTION = "packed_rows"
_TOKENS_PER_ROW = 192  # few rows are so short on average; more bounds cost attention time


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows of a packed sequence begin, on the device, and the longest they may be."""

    bounds: Tensor
    longest: int


@dataclass(frozen=True, slots=True)
class PackedShape(Shape):
    """One sequence of ``length`` tokens that holds rows of at most ``longest`` tokens."""

    longest: int

    @property
    def most_rows(self) -> int:
        """How many rows a sequence may hold; fixed, so that the bounds have one shape too."""
        return self.length // _TOKENS_PER_ROW + 1

    @property
    def most_bounds(self) -> int:
        """How many bounds a batch has: one before every row, of tokens or padding, and the end."""
        return self.most_rows + self.length // self.longest + 2


def packed_shape(tokens_per_batch: int, longest: int) -> PackedShape:
    """The shape of packed batches. Raises InvalidInputError when a row might not fit."""
    if tokens_per_batch < longest:
        raise InvalidInputError(
            "data.tokens_per_batch", f"is {tokens_per_batch}, less than one row of {longest} tokens"
        )
    return PackedShape(1, tokens_per_batch, longest)


class Packs:
    """Takes rows one by one and gives back a batch whenever the next row does not fit."""

    def __init__(self, shape: PackedShape, waiting: Sequence[TrainingRow] = ()) -> None:
        self._shape = shape
        self._held = list(waiting)
        self._tokens = sum(len(row) for row in waiting)

    def add(self, row: TrainingRow) -> Batch | None:
        """Hold the row; the batch of those before it, when there is no more room beside them."""
        if len(row) > self._shape.longest:
            raise InvalidInputError(
                row.where, f"has {len(row)} tokens; the longest may have {self._shape.longest}"
            )
        full = self._tokens + len(row) > self._shape.length
        batch = None
        if self._held and (full or len(self._held) == self._shape.most_rows):
            batch = collate_packed(self._held, self._shape)
            self._held, self._tokens = [], 0
        self._held.append(row)
        self._tokens += len(row)
        return batch

    def flush(self) -> list[Batch]:
        """What is held, as a batch of the usual shape."""
        batches = [collate_packed(self._held, self._shape)] if self._held else []
        self._held, self._tokens = [], 0
        return batches

    @property
    def waiting(self) -> list[TrainingRow]:
        """The rows held now; new Packs given them go on exactly from here."""
        return list(self._held)


def collate_packed(rows: Sequence[TrainingRow], shape: PackedShape) -> Batch:
    """The rows one after another; what is left of the sequence is padding nobody looks at."""
    ends = np.cumsum([len(row) for row in rows])
    tokens = np.zeros((1, shape.length), dtype=np.int64)
    tokens[0, : ends[-1]] = np.concatenate([row.tokens for row in rows])
    # Padding stands in rows of its own: attention leaves what lies beyond ``longest`` undefined.
    padding = np.arange(ends[-1], shape.length, shape.longest)[1:]
    bounds = np.full(shape.most_bounds, shape.length, dtype=np.int32)
    bounds[0] = 0
    bounds[1 : len(ends) + 1] = ends
    bounds[len(ends) + 1 : len(ends) + 1 + len(padding)] = padding
    batch = collate(rows, None)
    starts = np.concatenate([[0], ends[:-1]])
    return batch.packed(tokens, batch.at + starts[batch.row], bounds, shape.longest)


def positions_in_rows(bounds: Tensor, length: int) -> Tensor:
    """Every token's place in its own row, 1 x length."""
    places = torch.arange(length, device=bounds.device, dtype=bounds.dtype)
    row = torch.searchsorted(bounds, places, right=True) - 1
    return (places - bounds[row]).unsqueeze(0)


def packed_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    *,
    bounds: Tensor,
    longest: int,
    **_: Any,
) -> tuple[Tensor, None]:
    """Causal attention within each row, in the form transformers calls attention.

    ``query`` is 1 x heads x tokens x width; keys and values may have fewer heads.
    """
    query, key, value = (tensor.squeeze(0).transpose(0, 1) for tensor in (query, key, value))
    return attend(query, key, value, bounds, longest, scaling).unsqueeze(0), None


def attend(
    query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, longest: int, scaling: float | None
) -> Tensor:
    """Causal attention within each row; all tensors are tokens x heads x width."""
    if not query.is_cuda:
        return _row_by_row(query, key, value, bounds, scaling)
    flash = torch.ops.aten._flash_attention_forward(
        query, key, value, bounds, bounds, longest, longest, 0.0, True, False, scale=scaling
    )
    attended: Tensor = flash[0]
    return attended


def _row_by_row(
    query: Tensor, key: Tensor, value: Tensor, bounds: Tensor, scaling: float | None
) -> Tensor:
    outputs = []
    edges = sorted(set(bounds.tolist()))
    for start, end in pairwise(edges):
        attended = torch.nn.functional.scaled_dot_product_attention(
            query[start:end].transpose(0, 1),
            key[start:end].transpose(0, 1),
            value[start:end].transpose(0, 1),
            is_causal=True,
            scale=scaling,
            enable_gqa=True,
        )
        outputs.append(attended.transpose(0, 1))
    return torch.cat(outputs)


def register_attention() -> None:
    """Make ``packed_attention`` known to transformers under its name."""
    from transformers import AttentionInterface

    AttentionInterface.register(ATTENTION, packed_attention)
