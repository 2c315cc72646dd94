"""Rows one after another in a single sequence: no padding, and few shapes.

Where the device has attention over packed rows (CUDA), short rows share one sequence and long rows
another: torch's attention sets out as many blocks for every row as the longest row may need, so a
long limit is dear where rows are short. Attention between rows is cut at ``bounds``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from thisthat.errors import InvalidInputError
from thisthat_lab.train.data.buckets import Shape, TrainingBatch, collate
from thisthat_lab.train.data.rows import TrainingRow

_TOKENS_PER_ROW = 192  # few rows are so short on average; more bounds cost attention time
_SHORT = 512


@dataclass(frozen=True, slots=True)
class PackedShape(Shape):
    """One sequence of ``length`` tokens that holds rows of ``shortest`` to ``longest`` tokens."""

    longest: int
    shortest: int = 0

    @property
    def most_rows(self) -> int:
        """How many rows a sequence may hold; fixed, so that the bounds have one shape too."""
        return self.length // max(_TOKENS_PER_ROW, self.shortest) + 1

    @property
    def most_bounds(self) -> int:
        """How many bounds a batch has: one before every row, of tokens or padding, and the end."""
        return self.most_rows + self.length // self.longest + 2


def packed_shapes(tokens_per_batch: int, longest: int) -> list[PackedShape]:
    """The shapes of packed batches, short rows first.

    Raises InvalidInputError when a row might not fit.
    """
    if tokens_per_batch < longest:
        raise InvalidInputError(
            "data.tokens_per_batch", f"is {tokens_per_batch}, less than one row of {longest} tokens"
        )
    if longest <= _SHORT:
        return [PackedShape(1, tokens_per_batch, longest)]
    return [
        PackedShape(1, tokens_per_batch, _SHORT),
        PackedShape(1, tokens_per_batch, longest, _SHORT + 1),
    ]


class Packs:
    """Takes rows one by one and gives back a batch whenever the next row of its shape does not fit.

    ``shapes`` stand in order of their longest row.
    """

    def __init__(self, shapes: Sequence[PackedShape], waiting: Sequence[TrainingRow] = ()) -> None:
        self._shapes = list(shapes)
        self._held: list[list[TrainingRow]] = [[] for _ in shapes]
        self._filled = [0 for _ in shapes]
        for row in waiting:
            self._hold(self._place(row), row)

    def _place(self, row: TrainingRow) -> int:
        for place, shape in enumerate(self._shapes):
            if len(row) <= shape.longest:
                return place
        raise InvalidInputError(
            row.where, f"has {len(row)} tokens; the longest may have {self._shapes[-1].longest}"
        )

    def add(self, row: TrainingRow) -> TrainingBatch | None:
        """Hold the row; the batch of those before it, when there is no more room beside them."""
        place = self._place(row)
        shape, held = self._shapes[place], self._held[place]
        full = self._filled[place] + len(row) > shape.length
        batch = None
        if held and (full or len(held) == shape.most_rows):
            batch = collate_packed(held, shape)
            held.clear()
            self._filled[place] = 0
        self._hold(place, row)
        return batch

    def _hold(self, place: int, row: TrainingRow) -> None:
        self._held[place].append(row)
        self._filled[place] += len(row)

    def flush(self) -> list[TrainingBatch]:
        """What is held, as batches of the usual shapes."""
        batches = [
            collate_packed(held, shape)
            for shape, held in zip(self._shapes, self._held, strict=True)
            if held
        ]
        self._held = [[] for _ in self._shapes]
        self._filled = [0 for _ in self._shapes]
        return batches

    @property
    def waiting(self) -> list[TrainingRow]:
        """The rows held now; new Packs given them go on exactly from here."""
        return [row for held in self._held for row in held]


def collate_packed(rows: Sequence[TrainingRow], shape: PackedShape) -> TrainingBatch:
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
    since = None
    if any(row.is_open for row in rows):
        since = np.arange(shape.length, dtype=np.int32)
        parts = [row.since + start for row, start in zip(rows, starts, strict=True)]
        since[: ends[-1]] = np.concatenate(parts)
    return batch.packed(tokens, batch.at + starts[batch.row], bounds, shape.longest, since)


def positions_in_rows(bounds: Tensor, length: int) -> Tensor:
    """Every token's place in its own row, 1 x length."""
    places = torch.arange(length, device=bounds.device, dtype=bounds.dtype)
    row = torch.searchsorted(bounds, places, right=True) - 1
    return (places - bounds[row]).unsqueeze(0)
