from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from tests.engine.trees import open_rows
from thisthat.engine.flat_pass import lay_flat, pack, split_evenly
from thisthat.engine.rows import Branch, Row, Slot


def test_two_trees_in_one_sequence() -> None:
    first = Row((), (1, 2), (Branch((3,), (Slot(0, 2),)), Branch((4, 5), (Slot(1, 2),))))
    second = Row((), (6,), (Branch((7,), (Slot(0, 2),)),))
    flat = lay_flat([first, second], kept=10)
    assert flat.tokens.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert flat.positions.tolist() == [10, 11, 12, 12, 13, 10, 11]
    assert flat.since.tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert flat.until.tolist() == [5, 5, 3, 5, 5, 7, 7]
    assert flat.slots.tolist() == [2, 4, 6]
    assert flat.starts.tolist() == [0, 2, 3, 5, 6]


def test_a_branch_without_a_trunk_starts_where_its_tree_does() -> None:
    flat = lay_flat([Row((), (), (Branch((3, 4), ()), Branch((5,), ())))], kept=0)
    assert flat.starts.tolist() == [0, 2]


def test_open_trunks_are_seen_from_their_first_token_on() -> None:
    first = Row((), (1, 2, 3), (Branch((4,), (Slot(0, 2),)),), opened=2)
    second = Row((), (5, 6), (Branch((7,), (Slot(0, 2),)),), opened=2)
    flat = lay_flat([first, second], kept=10)
    assert flat.since.tolist() == [0, 0, 2, 3, 4, 4, 6]
    assert flat.until.tolist() == [4, 4, 4, 4, 7, 7, 7]


@given(trees=st.lists(open_rows(), min_size=1, max_size=4))
def test_what_a_slot_sees_is_its_own_path(trees: list[Row]) -> None:
    flat = lay_flat(trees, kept=0)
    wanted = [
        list(row.trunk + branch.tokens[: slot.at + 1])
        for row in trees
        for branch in row.branches
        for slot in branch.slots
    ]
    found = [
        flat.tokens[(flat.since <= slot) & (slot < flat.until)].tolist() for slot in flat.slots
    ]
    assert found == wanted


@given(length=st.integers(0, 10_000), most=st.integers(1, 600))
def test_parts_are_few_even_and_complete(length: int, most: int) -> None:
    parts = split_evenly(length, most)
    assert sum(parts) == length
    assert max(parts) <= most
    assert max(parts) - min(parts) <= 1
    assert len(parts) == max(1, -(-length // most))


@given(sizes=st.lists(st.integers(0, 50)), most=st.integers(1, 60))
def test_groups_keep_order_and_fit(sizes: list[int], most: int) -> None:
    groups = pack(sizes, most)
    assert [index for group in groups for index in group] == list(range(len(sizes)))
    assert all(len(group) == 1 or sum(sizes[i] for i in group) <= most for group in groups)


@given(sizes=st.lists(st.integers(0, 20), min_size=1, max_size=8), most=st.integers(1, 40))
def test_groups_are_few_and_even(sizes: list[int], most: int) -> None:
    def largest(groups: list[list[int]]) -> int:
        return max((sum(sizes[i] for i in group) for group in groups if len(group) > 1), default=0)

    def every(start: int) -> Iterator[list[list[int]]]:
        if start == len(sizes):
            yield []
        for end in range(start + 1, len(sizes) + 1):
            if end == start + 1 or sum(sizes[start:end]) <= most:
                yield from ([list(range(start, end)), *rest] for rest in every(end))

    found = pack(sizes, most)
    fewest = min(len(groups) for groups in every(0))
    assert len(found) == fewest
    best = min(largest(groups) for groups in every(0) if len(groups) == fewest)
    assert largest(found) <= max(best, max(sizes))
