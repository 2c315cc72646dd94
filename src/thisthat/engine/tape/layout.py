"""Trees written one after another on a tape of tokens, with the tables that fused kernels read.

Each token knows its place in its path (``positions``), the token before it on that path
(``parents``) and the places of the tape from and before which it is seen (``since``, ``until``).
Attention goes over ``blocks`` of query tokens, the delta rule over ``chunks`` of tokens and
``leaves``: a leaf starts with the chunks of its row's trunk and continues with its own. Blocks and
chunks are counted from the start of their row and branch, so that a row's tables do not depend on
what stands beside it. Knows nothing of weights or devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.open_trunk import since
from thisthat.engine.rows import Row

Table = NDArray[np.int32]

BLOCK = 64
"""Tokens of a block of queries and of a chunk of the delta rule."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a tape must have room for."""

    tokens: int = 0
    blocks: int = 0
    chunks: int = 0
    leaves: int = 0
    slots: int = 0

    def __add__(self, other: Need) -> Need:
        return Need(
            self.tokens + other.tokens,
            self.blocks + other.blocks,
            self.chunks + other.chunks,
            self.leaves + other.leaves,
            self.slots + other.slots,
        )

    def fits(self, room: Need) -> bool:
        """Whether there is room for all of it."""
        return (
            self.tokens <= room.tokens
            and self.blocks <= room.blocks
            and self.chunks <= room.chunks
            and self.leaves <= room.leaves
            and self.slots <= room.slots
        )


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one tape, each filled up to its room; entries not needed are empty.

    ``blocks`` are (first token, end, first token of the row, end of what the block sees),
    ``chunks`` (first token, end), ``leaves`` (first and end of the trunk's chunks, first and end of
    its own). An empty range is skipped. The first leaf of a row owns the trunk's chunks.
    """

    ids: Table
    positions: Table
    parents: Table
    since: Table
    until: Table
    blocks: Table
    chunks: Table
    leaves: Table
    slots: Table

    @classmethod
    def views(cls, memory: Table, room: Need) -> Tables:
        """Tables with that room, as views of ``memory``."""
        shapes = table_shapes(room)
        parts: dict[str, Table] = {}
        start = 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            parts[name] = memory[start : start + size].reshape(shape)
            start += aligned(size)
        return cls(**parts)


def table_shapes(room: Need) -> dict[str, tuple[int, ...]]:
    """The shape of each table of a tape with that room, in the order of their memory."""
    return {
        "ids": (room.tokens,),
        "positions": (room.tokens,),
        "parents": (room.tokens,),
        "since": (room.tokens,),
        "until": (room.tokens,),
        "blocks": (room.blocks, 4),
        "chunks": (room.chunks, 2),
        "leaves": (room.leaves, 4),
        "slots": (room.slots,),
    }


def table_entries(room: Need) -> int:
    """How many numbers the tables of a tape with that room hold."""
    return sum(aligned(int(np.prod(shape))) for shape in table_shapes(room).values())


def aligned(entries: int) -> int:
    """Entries up to the next table, which begins at a multiple of 16 bytes."""
    return -(-entries // 4) * 4


def need_of(row: Row) -> Need:
    """What one row needs; its prefix is read with its trunk."""
    segments = _segment_lengths(row)
    return Need(
        tokens=row.tokens,
        blocks=-(-row.tokens // BLOCK),
        chunks=sum(-(-length // BLOCK) for length in segments),
        leaves=len(row.branches),
        slots=row.slots,
    )


@lru_cache(256)
def room_for(tokens: int) -> Need:
    """The room of a tape of so many tokens: short rows and many questions included."""
    many = max(8, tokens // 32)
    return Need(
        tokens=tokens,
        blocks=tokens // BLOCK + many,
        chunks=tokens // BLOCK + many,
        leaves=many,
        slots=max(16, tokens // 16),
    )


def write_tape(rows: Sequence[Row], tables: Tables) -> None:
    """Write the rows into the tables, whose room must suffice; what is left over is emptied."""
    tables.ids[:] = 0
    tables.positions[:] = 0
    tables.parents[:] = -1
    tables.since[:] = 0
    tables.until[:] = 0
    for table in (tables.blocks, tables.chunks, tables.leaves, tables.slots):
        table[:] = 0
    used = Need()
    for row in rows:
        _write_row(row, tables, used)
        used = used + need_of(row)


def _segment_lengths(row: Row) -> list[int]:
    """Lengths that are cut into chunks: a single branch continues its trunk without a cut."""
    trunk = len(row.prefix) + len(row.trunk)
    if len(row.branches) == 1:
        return [trunk + len(row.branches[0].tokens)]
    return [trunk, *(len(branch.tokens) for branch in row.branches)]


def _write_row(row: Row, tables: Tables, used: Need) -> None:
    first = used.tokens
    trunk = row.prefix + row.trunk
    fork = first + len(trunk)
    end = first + row.tokens
    _write_path(tables, first, trunk, 0, -1, end)
    slot = used.slots
    start = fork
    for branch in row.branches:
        stop = start + len(branch.tokens)
        before = fork - 1 if trunk else -1
        _write_path(tables, start, branch.tokens, len(trunk), before, stop)
        for place in branch.slots:
            tables.slots[slot] = start + place.at
            slot += 1
        start = stop
    sight = first + since(row.tokens, row.opened, len(row.prefix))
    tables.since[first:end] = sight
    starts = np.arange(first, end, BLOCK)
    ends = np.minimum(starts + BLOCK, end)
    blocks = tables.blocks[used.blocks : used.blocks + len(starts)]
    blocks[:, 0], blocks[:, 1], blocks[:, 2] = starts, ends, first
    # ``since`` never falls along a row: a block sees up to the last token seen by its own last.
    blocks[:, 3] = first + np.searchsorted(sight, ends - 1, side="right")
    _write_chunks(row, tables, used)


def _write_path(
    tables: Tables, start: int, tokens: Sequence[int], depth: int, before: int, until: int
) -> None:
    stop = start + len(tokens)
    if start == stop:
        return
    tables.ids[start:stop] = tokens
    tables.positions[start:stop] = np.arange(depth, depth + stop - start)
    tables.parents[start:stop] = np.arange(start - 1, stop - 1)
    tables.parents[start] = before
    tables.until[start:stop] = until


def _write_chunks(row: Row, tables: Tables, used: Need) -> None:
    place, chunk = used.tokens, used.chunks
    spans: list[tuple[int, int]] = []
    for length in _segment_lengths(row):
        begin = chunk
        for start in range(place, place + length, BLOCK):
            tables.chunks[chunk] = start, min(start + BLOCK, place + length)
            chunk += 1
        spans.append((begin, chunk))
        place += length
    if len(row.branches) == 1:
        tables.leaves[used.leaves] = 0, 0, *spans[0]
        return
    trunk, *branches = spans
    for number, (begin, stop) in enumerate(branches):
        leaf = (0, 0, trunk[0], stop) if number == 0 else (*trunk, begin, stop)
        tables.leaves[used.leaves + number] = leaf
