"""Planning packed batches: every row once, nothing over its room, order kept."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine import trees
from thisthat.engine.cuda.batch_sizes import Grid, plan_batches, usual_grid
from thisthat.engine.cuda.packed_batch import Need, PackedRow, room_for
from thisthat.engine.rows import Branch, Row, Slot
from thisthat.errors import InvalidInputError

grids = st.sets(st.integers(1, 200), max_size=5).map(lambda sizes: Grid(tuple(sorted(sizes))))


@settings(deadline=None)
@given(rows=st.lists(trees.rows, max_size=20), grid=grids)
def test_every_row_has_one_batch_with_room_for_it(rows: list[Row], grid: Grid) -> None:
    laid = [PackedRow(row) for row in rows]
    plans = plan_batches(laid, grid)
    assert sorted(index for plan in plans for index in plan.indices) == list(range(len(rows)))
    for plan in plans:
        need = sum((laid[index].need for index in plan.indices), Need())
        if plan.size is None:
            assert len(plan.indices) == 1
            assert not any(need.fits(room_for(size)) for size in grid.sizes)
        else:
            assert need.fits(room_for(plan.size))
            smaller = [size for size in grid.sizes if size < plan.size]
            assert not any(need.fits(room_for(size)) for size in smaller)


@given(largest=st.integers(64, 40_000))
def test_the_usual_grid_wastes_little(largest: int) -> None:
    sizes = usual_grid(largest).sizes
    assert sizes[0] == 64
    assert sizes[-1] <= largest
    for size, following in itertools.pairwise(sizes):
        assert following - size <= max(64, size / 4)
        assert following % 64 == 0


def test_many_questions_take_a_larger_batch_rather_than_none() -> None:
    row = Row((), (1,) * 10, tuple(Branch((2,), (Slot(0, 2),)) for _ in range(40)))
    assert usual_grid().smallest_with(PackedRow(row).need) == 1280


@pytest.mark.parametrize("sizes", [(0,), (128, 64), (64, 64)])
def test_a_grid_ascends(sizes: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError, match="sizes"):
        Grid(sizes)
