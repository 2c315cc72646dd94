"""Where a row's tokens stand when its tree is written down: trunk first, then branch by branch.

Flat passes, padded rectangles and packed batches all move and pad this one layout. A token is seen
by the tokens from ``since`` on and before ``until``: a trunk to the end of its tree, a branch to
its own end, an open token from the start of its block on. That is all there is to a tree mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.bidirectional import since as seen_since
from thisthat.engine.rows import Row

Integers = NDArray[np.int64]


class RowShape(NamedTuple):
    """All that a layout depends on.

    Tokens already read, tokens of a prefix to be read with the trunk, tokens of the trunk, how many
    of them are open, and of every branch its tokens and slots.
    """

    kept: int
    prefix: int
    trunk: int
    opened: int
    branches: tuple[tuple[int, tuple[int, ...]], ...]

    @property
    def fork(self) -> int:
        """Where the first branch begins."""
        return self.prefix + self.trunk

    @property
    def lengths(self) -> list[int]:
        """Tokens of each branch."""
        return [length for length, _ in self.branches]


@dataclass(frozen=True, slots=True)
class Layout:
    """Numbers of one row's tokens, with places counted from its first token.

    ``starts`` are the places where the trunk and each branch begin; ``slots`` are places too.
    """

    positions: Integers
    since: Integers
    until: Integers
    slots: Integers
    starts: Integers


def shape_of(row: Row, kept: int, prefix: int = 0) -> RowShape:
    """The shape of a row after ``kept`` tokens, with ``prefix`` more to be read with its trunk."""
    branches = tuple(
        (len(branch.tokens), tuple(slot.at for slot in branch.slots)) for branch in row.branches
    )
    return RowShape(kept, prefix, len(row.trunk), row.opened, branches)


def lay_out(shape: RowShape) -> Layout:
    """The layout of a row of this shape."""
    lengths = np.array([shape.fork, *shape.lengths], np.int64)
    ends = lengths.cumsum()
    starts = ends - lengths
    tokens = int(ends[-1])
    depths = np.full(len(lengths), shape.kept + shape.fork)
    depths[0] = shape.kept
    ends[0] = tokens
    slots = [
        start + at
        for start, (_, places) in zip(starts[1:].tolist(), shape.branches, strict=True)
        for at in places
    ]
    return Layout(
        positions=np.arange(tokens) + np.repeat(depths - starts, lengths),
        since=seen_since(tokens, shape.opened, shape.prefix),
        until=np.repeat(ends, lengths),
        slots=np.array(slots, np.int64),
        starts=starts[lengths > 0],
    )


def fresh_ids(row: Row) -> Iterator[int]:
    """The ids of the trunk and the branches, in the order of the layout."""
    return chain(row.trunk, *(branch.tokens for branch in row.branches))
