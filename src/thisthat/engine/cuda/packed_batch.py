"""Rows packed into one batch of tokens, with the tables that fused kernels read.

Each token knows its place in its path (``positions``), the token before it on that path
(``parents``) and the places of the batch from and before which it is seen (``since``, ``until``).
Attention goes over ``blocks`` of query tokens, the delta rule over ``chunks`` of tokens and
``leaves``: a leaf starts with the chunks of its row's trunk and continues with its own. Blocks and
chunks are counted from the start of their row and branch, so that a row's tables do not depend on
what stands beside it. A prefix may be kept in the prefix slots: then its row starts after it, its
paths begin with what the last tokens of the prefix gave to convolutions, and its leaves with the
state after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from math import prod
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from thisthat.engine.cuda.prefix_slots import SlotRange
from thisthat.engine.layout import RowShape, fresh_ids, lay_out, shape_of
from thisthat.engine.rows import Row

Table = NDArray[np.int32]

_LONGEST_KEPT = 2_048
"""Tokens of the longest row whose tables are remembered by its shape."""

BLOCK = 64
"""Tokens of a block of queries and of a chunk of the delta rule."""


BLOCK_COLUMNS = 8
"""Numbers that describe a block of queries, one of them not used."""

LEAF_COLUMNS = 6
"""Numbers that describe a leaf."""


@dataclass(frozen=True)
class PackedRow:
    """A row, and what is kept of it.

    ``kept`` are the slots of its prefix; without them the prefix is read with the trunk, and with
    them ``cached`` of its tokens need not be computed. ``keep_at`` are the slots in which
    the tokens of this row are to be kept themselves. ``place`` is its place in the caller's order.
    """

    row: Row
    kept: SlotRange | None = None
    keep_at: SlotRange | None = None
    place: int = -1
    cached: int = 0

    @property
    def tokens(self) -> int:
        """Tokens that stand in the batch."""
        return self.need.tokens

    @cached_property
    def shape(self) -> RowShape:
        """The shape of what stands in the batch."""
        prefix = len(self.row.prefix)
        return shape_of(self.row, 0, prefix) if self.kept is None else shape_of(self.row, prefix)

    @cached_property
    def need(self) -> Need:
        """What it needs; a prefix that is not kept is read with its trunk."""
        return _need_of(self.shape)


@dataclass(frozen=True, slots=True)
class Need:
    """What a batch must have room for."""

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


Kind = TypeVar("Kind", Table, Tensor)


@dataclass(frozen=True, slots=True)
class Tables(Generic[Kind]):
    """The tables of one batch, each filled up to its room; entries not needed are empty.

    ``blocks`` are (first token, end, first token of the row, end of what all of the block sees, end
    of what any of it sees, first and end of the slots of its prefix), ``chunks`` (first token,
    end), ``leaves`` (first and end of the trunk's chunks, first and end of its own, the kept state
    it starts with and the one its last state is to be kept as, or -1). An empty range is skipped.
    The first leaf of a row owns the trunk's chunks. ``parents`` are negative where a path begins:
    -1 - n after the kept state n, and below ``NOTHING_BEFORE`` after nothing. ``keep_at`` is the
    prefix slot in which a token is to be kept, and ``history_at`` the kept state whose last token
    it is, or -1. ``per_token`` is all that has a number for each token, in one.
    """

    per_token: Kind
    ids: Kind
    positions: Kind
    parents: Kind
    since: Kind
    until: Kind
    keep_at: Kind
    history_at: Kind
    blocks: Kind
    chunks: Kind
    leaves: Kind
    slots: Kind

    @classmethod
    def views(cls, memory: Kind, room: Need) -> Tables[Kind]:
        """Tables with that room, as views of ``memory``."""
        parts: dict[str, Kind] = {}
        start = 0
        for name, shape in table_shapes(room).items():
            size = prod(shape)
            parts[name] = memory[start : start + size].reshape(shape)
            start += _aligned(size)
        return cls(**parts, **dict(zip(PER_TOKEN, parts["per_token"], strict=True)))


PER_TOKEN = ("ids", "positions", "parents", "since", "until", "keep_at", "history_at")
"""The rows of the table with a column for every token."""

_MOVE = np.array([[0], [1], [1], [1]], np.int32)
"""Which of positions, parents, since and until are places in the batch, and move with the row."""

_NONE_BEFORE = -(1 << 30)
"""The parent of a path's first token: below ``NOTHING_BEFORE`` wherever its row stands."""

NOTHING_BEFORE = -(1 << 29)

_NOT_KEPT = SlotRange(0, 0)


def table_shapes(room: Need) -> dict[str, tuple[int, ...]]:
    """The shape of each table of a batch with that room, in the order of their memory."""
    return {
        "per_token": (len(PER_TOKEN), room.tokens),
        "blocks": (room.blocks, BLOCK_COLUMNS),
        "chunks": (room.chunks, 2),
        "leaves": (room.leaves, LEAF_COLUMNS),
        "slots": (room.slots,),
    }


@lru_cache(256)
def table_entries(room: Need) -> int:
    """How many numbers the tables of a batch with that room hold."""
    return sum(_aligned(prod(shape)) for shape in table_shapes(room).values())


def _aligned(entries: int) -> int:
    """Entries up to the next table, which begins at a multiple of 16 bytes."""
    return -(-entries // 4) * 4


@lru_cache(1024)
def _need_of(shape: RowShape) -> Need:
    """What a row of this shape needs."""
    slots = sum(len(places) for _, places in shape.branches)
    return _need(shape.fork, shape.lengths, slots)


def _need(fork: int, lengths: Sequence[int], slots: int) -> Need:
    tokens = fork + sum(lengths)
    return Need(
        tokens=tokens,
        blocks=-(-tokens // BLOCK),
        chunks=sum(-(-length // BLOCK) for length in _segments(fork, lengths)),
        leaves=max(1, len(lengths)),
        slots=slots,
    )


@lru_cache(256)
def room_for(tokens: int) -> Need:
    """The room of a batch of so many tokens: short rows and many questions included."""
    many = max(8, tokens // 32)
    return Need(
        tokens=tokens,
        blocks=tokens // BLOCK + many,
        chunks=tokens // BLOCK + many,
        leaves=many,
        slots=-(-tokens // (16 * BLOCK)) * BLOCK,
    )


def write_batch(rows: Sequence[PackedRow], tables: Tables[Table]) -> None:
    """Write the rows into the tables, whose room must suffice; what is left over is emptied."""
    used = Need()
    tables.keep_at[:] = tables.history_at[:] = -1
    for given in rows:
        need = given.need
        # Rows of one shape come together; long ones seldom do, and their tables are large.
        alone = _tables_of if need.tokens <= _LONGEST_KEPT else _tables_of.__wrapped__
        _copy_row(given, alone(given.shape), tables, used)
        used = used + need
    tables.ids[used.tokens :] = 0
    tables.positions[used.tokens :] = 0
    tables.parents[used.tokens :] = _NONE_BEFORE
    tables.since[used.tokens :] = 0
    tables.until[used.tokens :] = 0
    tables.blocks[used.blocks :] = 0
    tables.chunks[used.chunks :] = 0
    tables.leaves[used.leaves :] = 0
    tables.slots[used.slots :] = 0


def _copy_row(given: PackedRow, alone: Tables[Table], tables: Tables[Table], used: Need) -> None:
    """The tables of a row alone in a batch, moved to its place in this one."""
    row = given.row
    first = used.tokens
    end = first + alone.per_token.shape[1]
    prefix = () if given.kept else row.prefix
    ids = chain(prefix, fresh_ids(row))
    tables.ids[first:end] = np.fromiter(ids, np.int32, end - first)
    np.add(alone.per_token[1:5], _MOVE * first, out=tables.per_token[1:5, first:end])
    kept, keep_at = given.kept or _NOT_KEPT, given.keep_at or _NOT_KEPT
    if given.keep_at:
        tables.keep_at[first:end] = np.arange(keep_at.first, keep_at.end)
        tables.history_at[end - 1] = keep_at.state
    if kept.state >= 0:
        tables.parents[first:end][alone.parents < 0] = -1 - kept.state
    _add(alone.blocks, first, tables.blocks, used.blocks)
    tables.blocks[used.blocks : used.blocks + len(alone.blocks), 5:] = (kept.first, kept.end, 0)
    _add(alone.chunks, first, tables.chunks, used.chunks)
    _add(alone.leaves, used.chunks, tables.leaves, used.leaves)
    leaves = tables.leaves[used.leaves : used.leaves + len(alone.leaves)]
    leaves[:, 4:] = (kept.state, keep_at.state)
    _add(alone.slots, first, tables.slots, used.slots)


def _add(alone: Table, moved: int, table: Table, start: int) -> None:
    np.add(alone, moved, out=table[start : start + len(alone)])


@lru_cache(256)
def _tables_of(given: RowShape) -> Tables[Table]:
    """The tables of a row of this shape that stands alone in a batch without room to spare."""
    fork, lengths = given.fork, given.lengths
    layout = lay_out(given)
    tokens = len(layout.positions)
    room = _need(fork, lengths, len(layout.slots))
    tables = Tables.views(np.zeros(table_entries(room), np.int32), room)
    tables.positions[:] = layout.positions
    tables.since[:] = layout.since
    tables.until[:] = layout.until
    tables.slots[:] = layout.slots
    tables.parents[:] = np.arange(-1, tokens - 1)
    tables.parents[layout.starts] = fork - 1 if fork else _NONE_BEFORE
    tables.parents[:1] = _NONE_BEFORE
    starts = np.arange(0, tokens, BLOCK)
    ends = np.minimum(starts + BLOCK, tokens)
    tables.blocks[:, 0], tables.blocks[:, 1], tables.blocks[:, 2] = starts, ends, 0
    # ``since`` never falls along a row: a block sees up to the last token seen by its own last.
    tables.blocks[:, 4] = np.searchsorted(tables.since, ends - 1, side="right")
    # All of a block see the trunk up to its first token, and the first branch if none is past it.
    past_the_first = ends > fork + lengths[0] if lengths else np.zeros(len(ends), np.bool_)
    tables.blocks[:, 3] = np.minimum(
        np.searchsorted(tables.since, starts, side="right"), np.where(past_the_first, fork, tokens)
    )
    _write_chunks(tables, _segments(fork, lengths))
    return tables


def _segments(fork: int, branches: Sequence[int]) -> list[int]:
    """Lengths that are cut into chunks: a single branch continues its trunk without a cut."""
    return [fork + branches[0]] if len(branches) == 1 else [fork, *branches]


def _write_chunks(tables: Tables[Table], segments: Sequence[int]) -> None:
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
        tables.leaves[0, :4] = 0, 0, *spans[0]
        return
    trunk, *branches = spans
    for number, (begin, stop) in enumerate(branches):
        leaf = (0, 0, trunk[0], stop) if number == 0 else (*trunk, begin, stop)
        tables.leaves[number, :4] = leaf
