"""Which sizes of packed batches exist, and which rows go into which. Pure planning over lengths."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from thisthat.engine.cuda.packed_batch import Need, PackedRow, room_for
from thisthat.errors import InvalidInputError

SMALLEST = 64
LARGEST = 16_384
STEPS_PER_DOUBLING = 4
"""Sizes between one power of two and the next, so that at most a fifth of a batch is empty."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Sizes in ascending order; nothing else is ever captured."""

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if list(self.sizes) != sorted(set(self.sizes)) or (self.sizes and self.sizes[0] < 1):
            raise InvalidInputError("sizes", f"{self.sizes}, but must ascend from at least 1")

    def smallest_with(self, need: Need) -> int | None:
        """The smallest size with room for that much, or None."""
        start = bisect_left(self.sizes, need.tokens)
        for size in self.sizes[start:]:
            if need.fits(room_for(size)):
                return size
        return None


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Rows that share a batch, by their places in the caller's order; size None is outside."""

    size: int | None
    indices: tuple[int, ...]


def usual_grid(largest: int = LARGEST) -> Grid:
    """Multiples of 64 up to 512, then four sizes for each doubling up to ``largest``."""
    sizes: list[int] = []
    size = step = SMALLEST
    while size <= largest:
        sizes.append(size)
        if size >= 2 * STEPS_PER_DOUBLING * step:
            step *= 2
        size += step
    return Grid(tuple(sizes))


def plan_batches(rows: Sequence[PackedRow], grid: Grid) -> list[BatchPlan]:
    """Every row in exactly one batch; a row no batch has room for stands alone with size None.

    Rows keep their order. A batch is filled up to the largest size before the next one starts.
    """
    plans: list[BatchPlan] = []
    members: list[int] = []
    held = Need()
    most = room_for(grid.sizes[-1]) if grid.sizes else Need()

    def close() -> None:
        if members:
            plans.append(BatchPlan(grid.smallest_with(held), tuple(members)))
            members.clear()

    for index, row in enumerate(rows):
        need = row.need
        if not need.fits(most):
            plans.append(BatchPlan(None, (index,)))
            continue
        if not (held + need).fits(most):
            close()
            held = Need()
        members.append(index)
        held = held + need
    close()
    return plans
