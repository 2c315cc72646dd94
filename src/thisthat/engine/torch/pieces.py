"""A batch of a pass laid out as a rectangle: ids, positions, segments, sight and slot places.

Plain arrays built on the host: knows nothing of devices, weights or caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.bidirectional import since as seen_since
from thisthat.engine.rows import Branch, Tokens

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Piece:
    """What is left to read of a row: a trunk and branches after ``kept`` tokens already read.

    The first ``opened`` tokens of the trunk see each other, in blocks.
    """

    kept: int
    trunk: Tokens
    branches: tuple[Branch, ...]
    opened: int = 0

    @property
    def tokens(self) -> int:
        """Tokens this piece adds to the pass."""
        return len(self.trunk) + sum(len(branch.tokens) for branch in self.branches)

    @property
    def slots(self) -> int:
        """How many answers this piece gives."""
        return sum(len(branch.slots) for branch in self.branches)


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Arrays [batch, width]; ``slots`` are places in the flattened rectangle, piece by piece.

    ``since`` is, for each place of a piece, the first place that sees it.
    """

    ids: Integers
    positions: Integers
    segments: Integers
    since: Integers
    slots: Integers
    kept: Integers

    @property
    def is_plain(self) -> bool:
        """Whether ordinary causal attention is right: one branch each, equally much kept, no trunk
        open."""
        return bool(
            self.segments.max(initial=0) <= 1
            and np.all(self.kept == self.kept[0])
            and np.all(self.since == np.arange(self.since.shape[1]))
        )


def lay_out(pieces: Sequence[Piece], padding: int, last_position: int) -> Rectangle:
    """Pieces as rows of a rectangle, padded on the right so that no slot sees padding.

    ``padding`` is the segment of padding; padded positions stay at or below ``last_position``.
    """
    width = max(piece.tokens for piece in pieces)
    shape = (len(pieces), width)
    ids = np.zeros(shape, np.int64)
    segments = np.full(shape, padding, np.int64)
    kept = np.array([piece.kept for piece in pieces], np.int64)
    positions = np.minimum(kept[:, None] + np.arange(width), last_position)
    since = np.stack([seen_since(width, piece.opened) for piece in pieces])
    slots: list[int] = []
    for number, piece in enumerate(pieces):
        end = len(piece.trunk)
        ids[number, :end] = piece.trunk
        segments[number, :end] = 0
        for branch_number, branch in enumerate(piece.branches, start=1):
            start, end = end, end + len(branch.tokens)
            ids[number, start:end] = branch.tokens
            segments[number, start:end] = branch_number
            first = piece.kept + len(piece.trunk)
            positions[number, start:end] = np.arange(first, first + end - start)
            slots += [number * width + start + slot.at for slot in branch.slots]
    return Rectangle(ids, positions, segments, since, np.array(slots, np.int64), kept)
