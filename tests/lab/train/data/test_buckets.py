from __future__ import annotations

from bisect import bisect_left

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat_lab.train.data.buckets import Buckets, choose_lengths, collate, shapes_for
from thisthat_lab.train.data.rows import NO_OUTCOME, TrainingRow


def row(length: int, name: str = "r", slots: int = 1) -> TrainingRow:
    return TrainingRow(
        tokens=np.arange(1, length + 1, dtype=np.int32),
        at=np.linspace(0, length - 1, slots).astype(np.int32),
        counts=np.full(slots, 3, dtype=np.int32),
        targets=np.tile(np.array([0.0, 1.0, 0.0], dtype=np.float32), slots),
        weights=np.ones(slots, dtype=np.float32),
        outcomes=np.full(slots, NO_OUTCOME, dtype=np.int32),
        tags=("f/choice",) * slots,
        where=name,
    )


lengths_of_rows = st.lists(st.integers(1, 300), min_size=1, max_size=200)


@settings(deadline=None, max_examples=60)
@given(sample=lengths_of_rows, most=st.integers(1, 24), longest=st.integers(300, 700))
def test_few_lengths_that_fit_every_row(sample: list[int], most: int, longest: int) -> None:
    lengths = choose_lengths(sample, longest, most)
    assert 1 <= len(lengths) <= most
    assert lengths == sorted(set(lengths))
    assert lengths[-1] == longest
    assert all(length % 16 == 0 for length in lengths[:-1])


@settings(deadline=None, max_examples=20)
@given(sample=st.lists(st.integers(1, 90), min_size=1, max_size=20))
def test_the_lengths_waste_the_least(sample: list[int]) -> None:
    from itertools import combinations

    def padded(lengths: list[int]) -> int:
        return sum(lengths[bisect_left(lengths, n)] for n in sample)

    candidates = [16, 32, 48, 64, 80]
    best = min(
        padded([*chosen, 90]) for count in range(3) for chosen in combinations(candidates, count)
    )
    assert padded(choose_lengths(sample, 90, 3)) == best


@settings(deadline=None, max_examples=40)
@given(sample=lengths_of_rows, most=st.integers(1, 24), tokens=st.integers(512, 4096))
def test_every_row_comes_out_once_in_one_of_the_shapes(
    sample: list[int], most: int, tokens: int
) -> None:
    shapes = shapes_for(choose_lengths(sample, 512, most), tokens)
    assert len(shapes) <= 24
    buckets = Buckets(shapes)
    rows = [row(length, str(number), 1 + number % 3) for number, length in enumerate(sample)]
    batches = [batch for r in rows if (batch := buckets.add(r)) is not None]
    batches += buckets.flush()
    assert buckets.waiting == []
    allowed = {(shape.rows, shape.length) for shape in shapes}
    assert {batch.tokens.shape for batch in batches} <= allowed
    assert all(batch.tokens.size <= tokens for batch in batches)
    found = [name for batch in batches for name in batch.wheres]
    assert sorted(found) == sorted(r.where for r in rows)
    assert sum(batch.tokens_used for batch in batches) == sum(sample)
    for batch in batches:
        for number, name in enumerate(batch.wheres):
            expected = rows[int(name)]
            assert (batch.tokens[number, : len(expected)] == expected.tokens).all()
            assert (batch.tokens[number, len(expected) :] == 0).all()
            assert (batch.at[batch.row == number] == expected.at).all()
        assert (batch.targets.sum(-1) == 1).all()
        assert (batch.targets.argmax(-1) == 1).all()


@settings(deadline=None, max_examples=20)
@given(sample=lengths_of_rows, cut=st.integers(0, 200))
def test_waiting_rows_carry_on_where_they_were(sample: list[int], cut: int) -> None:
    shapes = shapes_for([64, 128, 300], 600)
    rows = [row(length, str(number)) for number, length in enumerate(sample)]
    whole = Buckets(shapes)
    expected = [b.wheres for r in rows if (b := whole.add(r)) is not None]
    first = Buckets(shapes)
    found = [b.wheres for r in rows[:cut] if (b := first.add(r)) is not None]
    second = Buckets(shapes, first.waiting)
    found += [b.wheres for r in rows[cut:] if (b := second.add(r)) is not None]
    assert found == expected


def test_targets_of_different_widths_stand_in_their_own_rows() -> None:
    wide = TrainingRow(
        tokens=np.array([7], dtype=np.int32),
        at=np.array([0], dtype=np.int32),
        counts=np.array([255], dtype=np.int32),
        targets=np.eye(255, dtype=np.float32)[254],
        weights=np.array([2], dtype=np.float32),
        outcomes=np.array([254], dtype=np.int32),
        tags=("w/choice",),
        where="wide",
    )
    batch = collate([row(3), wide], shapes_for([4], 8)[0])
    assert batch.targets.argmax(-1).tolist() == [1, 254]
    assert batch.outcomes.tolist() == [-1, 254]
    assert batch.weights.tolist() == [1, 2]


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"data.shapes: is 25; it must be 1 to 24"):
        choose_lengths([1], 64, 25)
    with pytest.raises(InvalidInputError, match=r"data.longest: a row is longer than 64"):
        choose_lengths([65], 64)
    with pytest.raises(InvalidInputError, match=r"data.tokens_per_batch: is 63, less than one row"):
        shapes_for([64], 63)
    with pytest.raises(InvalidInputError, match=r"r: has 65 tokens; the longest shape takes 64"):
        Buckets(shapes_for([64], 64)).add(row(65))
