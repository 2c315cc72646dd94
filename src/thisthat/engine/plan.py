"""Which rows run together: batches of near-equal length under a token budget.

A batch is a rectangle as wide as its longest row; what shorter rows leave empty is padding, which a
plan bounds per batch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from thisthat.errors import InvalidInputError

T = TypeVar("T")

MOST_PADDING = 0.25
"""The largest share of a batch that may be padding, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows that run together: their places in the caller's sequence, longest row first."""

    indices: tuple[int, ...]
    width: int
    tokens: int

    @property
    def area(self) -> int:
        """Tokens of the whole rectangle."""
        return self.width * len(self.indices)

    @property
    def padding(self) -> int:
        """Tokens of the rectangle that belong to no row."""
        return self.area - self.tokens


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches in the order they should run; every row is in exactly one of them."""

    batches: tuple[RowBatch, ...]

    def restore(self, results: Iterable[Sequence[T]]) -> list[T]:
        """Results given batch by batch, put back into the caller's order.

        Raises ValueError when a batch's results do not match its rows in number.
        """
        placed: dict[int, T] = {}
        for batch, answers in zip(self.batches, results, strict=True):
            placed.update(zip(batch.indices, answers, strict=True))
        return [placed[index] for index in range(len(placed))]


def plan_lengths(
    lengths: Sequence[int],
    keys: Sequence[Hashable],
    token_budget: int,
    most_padding: float = MOST_PADDING,
) -> Plan:
    """Batch what has the same key, longest first, so that no batch's area exceeds the budget.

    A single row longer than the budget gets a batch of its own. At most ``most_padding`` of a
    batch's area is padding. Keys run in the order of their first appearance.
    """
    if token_budget < 1:
        raise InvalidInputError("token_budget", f"{token_budget}, but must be at least 1")
    if not 0.0 <= most_padding < 1.0:
        raise InvalidInputError("most_padding", f"{most_padding}, but must be in [0, 1)")
    members: dict[Hashable, list[int]] = {}
    for index, key in enumerate(keys):
        members.setdefault(key, []).append(index)
    batches: list[RowBatch] = []
    for indices in members.values():
        indices.sort(key=lambda index: -lengths[index])
        batches += _fill(indices, lengths, token_budget, most_padding)
    return Plan(tuple(batches))


def _fill(
    indices: Sequence[int], lengths: Sequence[int], token_budget: int, most_padding: float
) -> list[RowBatch]:
    batches: list[RowBatch] = []
    open_rows: list[int] = []
    width = tokens = 0
    for index in indices:
        area = width * (len(open_rows) + 1)
        padding = area - tokens - lengths[index]
        if open_rows and (area > token_budget or padding > most_padding * area):
            batches.append(RowBatch(tuple(open_rows), width, tokens))
            open_rows = []
        if not open_rows:
            width, tokens = lengths[index], 0
        open_rows.append(index)
        tokens += lengths[index]
    if open_rows:
        batches.append(RowBatch(tuple(open_rows), width, tokens))
    return batches
