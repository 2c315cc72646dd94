"""Packed batches: every path can be followed back token by token, and neighbours change nothing."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine import trees
from thisthat.engine.cuda.packed_batch import (
    BLOCK,
    Need,
    PackedRow,
    Table,
    Tables,
    room_for,
    table_entries,
    write_batch,
)
from thisthat.engine.cuda.prefix_slots import SlotRange
from thisthat.engine.rows import Row

many_rows = st.lists(trees.open_rows(), max_size=6)


def written(rows: list[Row], spare: int = 7) -> Tables[Table]:
    laid = [PackedRow(row) for row in rows]
    need = sum((row.need for row in laid), Need())
    room = need + Need(spare, spare, spare, spare, spare)
    memory = np.full(table_entries(room), 99, np.int32)
    tables = Tables.views(memory, room)
    write_batch(laid, tables)
    return tables


def path_to(tables: Tables[Table], place: int) -> list[int]:
    path = []
    while place >= 0:
        path.append(int(tables.ids[place]))
        place = int(tables.parents[place])
    return path[::-1]


@settings(deadline=None)
@given(rows=many_rows)
def test_every_slot_has_the_path_that_leads_to_it(rows: list[Row]) -> None:
    tables = written(rows)
    slot = 0
    for row in rows:
        for branch in row.branches:
            for place in branch.slots:
                at = int(tables.slots[slot])
                wanted = [*row.prefix, *row.trunk, *branch.tokens[: place.at + 1]]
                assert path_to(tables, at) == wanted
                assert tables.positions[at] == len(wanted) - 1
                slot += 1


@settings(deadline=None)
@given(rows=many_rows)
def test_a_token_is_seen_by_those_that_descend_from_it_and_share_an_open_trunk(
    rows: list[Row],
) -> None:
    tables = written(rows)
    tokens = sum(row.tokens for row in rows)
    firsts = np.cumsum([0, *(row.tokens for row in rows)])
    opened = [
        range(first + len(row.prefix), first + len(row.prefix) + row.opened)
        for first, row in zip(firsts, rows, strict=False)
    ]
    row_of, seen_end = np.full(tokens, -1), np.full(tokens, -1)
    for first, end, row_first, clear_end, stop, *kept in tables.blocks:
        assert end - first <= BLOCK
        assert not any(kept)
        row_of[first:end] = row_first
        seen_end[first:end] = stop
        by_all = [
            other
            for other in range(row_first, stop)
            if tables.since[other] <= first and end <= tables.until[other]
        ]
        assert by_all[: clear_end - row_first] == list(range(row_first, clear_end))
        assert clear_end not in by_all
    assert (row_of >= 0).all()
    for later in range(tokens):
        seen = {
            other
            for other in range(row_of[later], seen_end[later])
            if tables.since[other] <= later < tables.until[other]
        }
        place, descent = later, {place for part in opened if later in part for place in part}
        while place >= 0:
            descent.add(place)
            place = int(tables.parents[place])
        assert seen == descent


@settings(deadline=None)
@given(rows=many_rows)
def test_leaves_walk_their_whole_path_and_own_every_token_once(rows: list[Row]) -> None:
    tables = written(rows)
    owned: list[int] = []
    for shared, shared_end, own, own_end, kept, keep in tables.leaves:
        if own == own_end:
            continue
        assert (kept, keep) == (-1, -1)
        walked = [
            token
            for chunk in [*range(shared, shared_end), *range(own, own_end)]
            for token in range(*tables.chunks[chunk])
        ]
        for before, token in itertools.pairwise(walked):
            assert tables.parents[token] == before
        assert tables.parents[walked[0]] < 0
        owned += [t for chunk in range(own, own_end) for t in range(*tables.chunks[chunk])]
    assert sorted(owned) == list(range(sum(row.tokens for row in rows)))


@settings(deadline=None)
@given(rows=st.lists(trees.open_rows(), min_size=1, max_size=5), place=st.integers(0, 4))
def test_a_row_is_laid_out_alike_wherever_it_stands(rows: list[Row], place: int) -> None:
    place = min(place, len(rows) - 1)
    before = sum((PackedRow(row).need for row in rows[:place]), Need())
    need = PackedRow(rows[place]).need
    among, alone = written(rows), written([rows[place]])
    for name in ("positions", "parents", "since", "until"):
        found = getattr(among, name)[before.tokens : before.tokens + need.tokens].astype(int)
        wanted = getattr(alone, name)[: need.tokens].astype(int)
        if name != "positions":
            wanted = wanted + before.tokens
        assert (found == wanted).all()
    blocks = among.blocks[before.blocks : before.blocks + need.blocks, :5] - before.tokens
    assert (blocks == alone.blocks[: need.blocks, :5]).all()
    chunks = among.chunks[before.chunks : before.chunks + need.chunks] - before.tokens
    assert (chunks == alone.chunks[: need.chunks]).all()


def test_blocks_of_queries_look_ahead_to_the_end_of_their_open_block() -> None:
    row = Row((1,) * 10, (2,) * 1_100, (trees.question((3,) * 40),), opened=1_090)
    tables = written([Row((), (4,) * 5, (trees.question((5,)),)), row])
    ends = {int(block[0]) - 6: int(block[4]) - 6 for block in tables.blocks if block[1] > 6}
    open_end, last_end = 10 + 1_024, 10 + 1_090
    assert ends == {
        start: max(
            min(start + BLOCK, row.tokens), open_end if start + BLOCK < open_end else last_end
        )
        for start in range(0, row.tokens, BLOCK)
    }


def test_what_is_left_over_is_empty() -> None:
    tables = written([])
    assert not tables.blocks.any()
    assert not tables.leaves.any()
    assert not tables.chunks.any()
    assert (tables.parents < 0).all()


@given(tokens=st.integers(1, 9000))
def test_a_batch_has_room_for_one_plain_row_of_its_size(tokens: int) -> None:
    row = Row((), (1,) * (tokens - 1), (trees.question((2,)),))
    assert PackedRow(row).need.fits(room_for(tokens))


@settings(deadline=None)
@given(row=trees.open_rows(), first=st.integers(0, 1000))
def test_a_row_after_a_kept_prefix_is_the_row_without_those_tokens(row: Row, first: int) -> None:
    span = SlotRange(first, first + len(row.prefix), first % 7)
    kept, whole = PackedRow(row, kept=span), PackedRow(row)
    need = kept.need
    assert need.tokens == kept.tokens == row.fresh_tokens
    room = need + Need(3, 3, 3, 3, 3)
    tables = Tables.views(np.zeros(table_entries(room), np.int32), room)
    write_batch([kept], tables)
    full = written([row])
    before, tokens = len(row.prefix), whole.tokens
    for name in ("ids", "positions"):
        assert (getattr(tables, name)[: need.tokens] == getattr(full, name)[before:tokens]).all()
    for name in ("since", "until"):
        moved = np.maximum(getattr(full, name)[before:tokens] - before, 0)
        assert (getattr(tables, name)[: need.tokens] == moved).all()
    assert (tables.slots[: need.slots] == full.slots[: need.slots] - before).all()
    assert (tables.blocks[: need.blocks, 5:7] == span[:2]).all()
    assert (tables.leaves[: need.leaves, 4:] == (span.state, -1)).all()
    # A path goes on from the kept state where its parent would stand in the prefix.
    parents = full.parents[before:tokens] - before
    assert (tables.parents[: need.tokens] == np.where(parents < 0, -1 - span.state, parents)).all()
    assert (tables.keep_at == -1).all()
    assert (tables.history_at == -1).all()


def test_a_prefix_to_be_kept_says_where() -> None:
    given = PackedRow(Row((), (4, 5, 6), ()), keep_at=SlotRange(10, 13, 2))
    room = given.need + Need(2, 2, 2, 2, 2)
    tables = Tables.views(np.zeros(table_entries(room), np.int32), room)
    write_batch([given], tables)
    assert tables.keep_at.tolist() == [10, 11, 12, -1, -1]
    assert tables.history_at.tolist() == [-1, -1, 2, -1, -1]
    assert tables.leaves[0].tolist() == [0, 0, 0, 1, -1, 2]
    assert tables.ids[:3].tolist() == [4, 5, 6]
