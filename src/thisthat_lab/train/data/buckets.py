"""Batches of few shapes: rows gather in buckets by length, and a full bucket is a batch.

Every bucket has one (rows, length) shape, so the number of shapes a compiler meets is the number
of buckets, at most 24. Lengths are chosen to waste as few padding tokens as possible on a sample.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat_lab.train.data.rows import TrainingRow

MOST_SHAPES = 24
STEP = 16
LABELS = 255


@dataclass(frozen=True, slots=True)
class Shape:
    """A batch of ``rows`` rows padded to ``length`` tokens."""

    rows: int
    length: int


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """Padded rows with their slots one after another; arrays a model can take as they are.

    ``row`` and ``at`` locate each slot. ``targets`` is slots x 255. ``tokens_used`` counts tokens
    that are not padding. ``wheres`` names each row's origin. A packed batch has all rows in one
    sequence: ``at`` counts from its start, and ``bounds`` are the places where rows begin.
    ``since`` has the shape of the tokens: the first token that sees each, where any state is open.
    """

    tokens: NDArray[np.int64]
    row: NDArray[np.int64]
    at: NDArray[np.int64]
    counts: NDArray[np.int64]
    targets: NDArray[np.float32]
    weights: NDArray[np.float32]
    outcomes: NDArray[np.int64]
    tags: tuple[str, ...]
    wheres: tuple[str, ...]
    tokens_used: int
    since: NDArray[np.int32] | None = None
    bounds: NDArray[np.int32] | None = None
    longest: int = 0

    def packed(
        self,
        tokens: NDArray[np.int64],
        at: NDArray[np.int64],
        bounds: NDArray[np.int32],
        longest: int,
        since: NDArray[np.int32] | None,
    ) -> TrainingBatch:
        """The same slots and labels over rows that stand in one sequence."""
        return replace(self, tokens=tokens, at=at, bounds=bounds, longest=longest, since=since)


def choose_lengths(sample: Sequence[int], longest: int, most: int = MOST_SHAPES) -> list[int]:
    """At most ``most`` ascending lengths, the last one ``longest``, with the least padding.

    Lengths are multiples of 16, but for ``longest`` itself. The best choice for the sample is
    found by dynamic programming over all of them.
    """
    if not 1 <= most <= MOST_SHAPES:
        raise InvalidInputError("data.shapes", f"is {most}; it must be 1 to {MOST_SHAPES}")
    ends = [*range(STEP, longest, STEP), longest]
    places = np.searchsorted(ends, np.asarray(sample, dtype=np.int64))
    if len(sample) and places.max() >= len(ends):
        raise InvalidInputError("data.longest", f"a row is longer than {longest} tokens")
    rows_up_to = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=len(ends)))])
    # cost[j]: padded tokens when ends[j - 1] closes the last bucket so far.
    cost = np.where(np.arange(len(ends) + 1) == 0, 0.0, np.inf)
    choices: list[NDArray[np.intp]] = []
    for _ in range(min(most, len(ends))):
        after = np.full(len(ends) + 1, np.inf)
        choice = np.zeros(len(ends) + 1, dtype=np.intp)
        for j in range(1, len(ends) + 1):
            totals = cost[:j] + (rows_up_to[j] - rows_up_to[:j]) * float(ends[j - 1])
            choice[j] = totals.argmin()
            after[j] = totals[choice[j]]
        choices.append(choice)
        cost = np.minimum(after, np.where(np.arange(len(ends) + 1) == 0, 0.0, np.inf))
    lengths: list[int] = []
    j = len(ends)
    for choice in reversed(choices):
        if j == 0:
            break
        lengths.append(ends[j - 1])
        j = int(choice[j])
    return sorted(lengths)


def shapes_for(lengths: Sequence[int], tokens_per_batch: int) -> list[Shape]:
    """One shape per length with about the same number of tokens in each."""
    if tokens_per_batch < lengths[-1]:
        raise InvalidInputError(
            "data.tokens_per_batch",
            f"is {tokens_per_batch}, less than one row of {lengths[-1]} tokens",
        )
    return [Shape(tokens_per_batch // length, length) for length in lengths]


class Buckets:
    """Takes rows one by one and gives back a batch whenever a bucket is full."""

    def __init__(self, shapes: Sequence[Shape], waiting: Sequence[TrainingRow] = ()) -> None:
        self.shapes = tuple(shapes)
        self._lengths = [shape.length for shape in shapes]
        self._held: list[list[TrainingRow]] = [[] for _ in shapes]
        for row in waiting:
            self._held[self._place(row)].append(row)

    def add(self, row: TrainingRow) -> TrainingBatch | None:
        """Hold the row; the batch it completes, if it completes one."""
        place = self._place(row)
        held = self._held[place]
        held.append(row)
        shape = self.shapes[place]
        if len(held) < shape.rows:
            return None
        self._held[place] = []
        return collate(held, shape)

    def flush(self) -> list[TrainingBatch]:
        """What is held, as batches of the usual shapes with empty rows at the end."""
        batches = [
            collate(held, shape)
            for held, shape in zip(self._held, self.shapes, strict=True)
            if held
        ]
        self._held = [[] for _ in self.shapes]
        return batches

    @property
    def waiting(self) -> list[TrainingRow]:
        """The rows held now; a new Buckets given them goes on exactly from here."""
        return [row for held in self._held for row in held]

    def _place(self, row: TrainingRow) -> int:
        place = bisect_left(self._lengths, len(row))
        if place == len(self._lengths):
            raise InvalidInputError(
                row.where, f"has {len(row)} tokens; the longest shape takes {self._lengths[-1]}"
            )
        return place


def collate(rows: Sequence[TrainingRow], shape: Shape | None) -> TrainingBatch:
    """The rows as one batch of ``shape``; rows that are missing are all padding.

    Without a shape the batch has no tokens, only slots and labels.
    """
    tokens = np.zeros((shape.rows, shape.length) if shape else (0, 0), dtype=np.int64)
    for number, row in enumerate(rows if shape else ()):
        tokens[number, : len(row)] = row.tokens
    since = None
    if shape and any(row.is_open for row in rows):
        since = np.tile(np.arange(shape.length, dtype=np.int32), (shape.rows, 1))
        for number, row in enumerate(rows):
            since[number, : len(row)] = row.since
    counts = np.concatenate([row.counts for row in rows]).astype(np.int64)
    targets = np.zeros((len(counts), LABELS), dtype=np.float32)
    inside = np.arange(LABELS) < counts[:, None]
    targets[inside] = np.concatenate([row.targets for row in rows])
    return TrainingBatch(
        tokens=tokens,
        row=np.repeat(np.arange(len(rows)), [len(row.at) for row in rows]),
        at=np.concatenate([row.at for row in rows]).astype(np.int64),
        counts=counts,
        targets=targets,
        weights=np.concatenate([row.weights for row in rows]),
        outcomes=np.concatenate([row.outcomes for row in rows]).astype(np.int64),
        tags=tuple(tag for row in rows for tag in row.tags),
        wheres=tuple(row.where for row in rows),
        tokens_used=sum(len(row) for row in rows),
        since=since,
    )
