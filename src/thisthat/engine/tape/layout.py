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
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.open_trunk import since
from thisthat.engine.rows import Row

Table = NDArray[np.int32]

_LONGEST_KEPT = 2_048
"""Tokens of the longest row whose tables are remembered by its shape."""

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
    lengths = [len(branch.tokens) for branch in row.branches]
    return _need(len(row.prefix) + len(row.trunk), lengths, row.slots)


def _need(fork: int, lengths: Sequence[int], slots: int) -> Need:
    tokens = fork + sum(lengths)
    return Need(
        tokens=tokens,
        blocks=-(-tokens // BLOCK),
        chunks=sum(-(-length // BLOCK) for length in _segments(fork, lengths)),
        leaves=len(lengths),
        slots=slots,
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
        slots=-(-tokens // (16 * BLOCK)) * BLOCK,
    )


def write_tape(rows: Sequence[Row], tables: Tables) -> None:
    """Write the rows into the tables, whose room must suffice; what is left over is emptied."""
    used = Need()
    for row in rows:
        need = need_of(row)
        # Rows of one shape come together; long ones seldom do, and their tables are large.
        alone = _tables_of if need.tokens <= _LONGEST_KEPT else _tables_of.__wrapped__
        _copy_row(row, alone(*_shape_of(row)), tables, used)
        used = used + need
    tables.ids[used.tokens :] = 0
    tables.positions[used.tokens :] = 0
    tables.parents[used.tokens :] = -1
    tables.since[used.tokens :] = 0
    tables.until[used.tokens :] = 0
    tables.blocks[used.blocks :] = 0
    tables.chunks[used.chunks :] = 0
    tables.leaves[used.leaves :] = 0
    tables.slots[used.slots :] = 0


def _copy_row(row: Row, alone: Tables, tables: Tables, used: Need) -> None:
    """The tables of a row alone on a tape, moved to its place on this one."""
    first = used.tokens
    end = first + len(alone.positions)
    parts = chain(row.prefix, row.trunk, *(branch.tokens for branch in row.branches))
    tables.ids[first:end] = np.fromiter(parts, np.int32, end - first)
    tables.positions[first:end] = alone.positions
    np.add(alone.parents, first, out=tables.parents[first:end])
    # Tokens that nothing precedes keep their mark.
    tables.parents[first:end][alone.parents < 0] = -1
    np.add(alone.since, first, out=tables.since[first:end])
    np.add(alone.until, first, out=tables.until[first:end])
    _add(alone.blocks, first, tables.blocks, used.blocks)
    _add(alone.chunks, first, tables.chunks, used.chunks)
    _add(alone.leaves, used.chunks, tables.leaves, used.leaves)
    _add(alone.slots, first, tables.slots, used.slots)


def _add(alone: Table, moved: int, table: Table, start: int) -> None:
    np.add(alone, moved, out=table[start : start + len(alone)])


_Shape: TypeAlias = tuple[int, int, int, tuple[tuple[int, tuple[int, ...]], ...]]
"""Tokens of prefix and trunk, how many are opened, and of every branch its tokens and slots."""


def _shape_of(row: Row) -> _Shape:
    branches = tuple(
        (len(branch.tokens), tuple(slot.at for slot in branch.slots)) for branch in row.branches
    )
    return len(row.prefix), len(row.trunk), row.opened, branches


@lru_cache(256)
def _tables_of(
    prefix: int, trunk: int, opened: int, branches: tuple[tuple[int, tuple[int, ...]], ...]
) -> Tables:
    """The tables of a row of this shape that stands alone on a tape without room to spare."""
    lengths = tuple(length for length, _ in branches)
    fork = prefix + trunk
    room = _need(fork, lengths, sum(len(slots) for _, slots in branches))
    tokens = room.tokens
    tables = Tables.views(np.zeros(table_entries(room), np.int32), room)
    _write_path(tables, 0, fork, 0, -1, tokens)
    start, slot = fork, 0
    for length, slots in branches:
        _write_path(tables, start, length, fork, fork - 1, start + length)
        tables.slots[slot : slot + len(slots)] = start + np.array(slots, np.int32)
        start, slot = start + length, slot + len(slots)
    tables.since[:] = since(tokens, opened, prefix)
    starts = np.arange(0, tokens, BLOCK)
    ends = np.minimum(starts + BLOCK, tokens)
    tables.blocks[:, 0], tables.blocks[:, 1], tables.blocks[:, 2] = starts, ends, 0
    # ``since`` never falls along a row: a block sees up to the last token seen by its own last.
    tables.blocks[:, 3] = np.searchsorted(tables.since, ends - 1, side="right")
    _write_chunks(tables, _segments(fork, lengths))
    return tables


def _segments(fork: int, branches: Sequence[int]) -> list[int]:
    """Lengths that are cut into chunks: a single branch continues its trunk without a cut."""
    return [fork + branches[0]] if len(branches) == 1 else [fork, *branches]


def _write_path(
    tables: Tables, start: int, length: int, depth: int, before: int, until: int
) -> None:
    stop = start + length
    if start == stop:
        return
    tables.positions[start:stop] = np.arange(depth, depth + length)
    tables.parents[start:stop] = np.arange(start - 1, stop - 1)
    tables.parents[start] = before
    tables.until[start:stop] = until


def _write_chunks(tables: Tables, segments: Sequence[int]) -> None:
    place = chunk = 0
    spans: list[tuple[int, int]] = []
    for length in segments:
        begin = chunk
        for start in range(place, place + length, BLOCK):
            tables.chunks[chunk] = start, min(start + BLOCK, place + length)
            chunk += 1
        spans.append((begin, chunk))
        place += length
    if len(segments) == 1:
        tables.leaves[0] = 0, 0, *spans[0]
        return
    trunk, *branches = spans
    for number, (begin, stop) in enumerate(branches):
        leaf = (0, 0, trunk[0], stop) if number == 0 else (*trunk, begin, stop)
        tables.leaves[number] = leaf
