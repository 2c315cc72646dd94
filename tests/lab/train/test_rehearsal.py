"""Where language is rehearsed: never at a slot, across rows, in padding, or seeing the answer."""

from __future__ import annotations

import numpy as np
import pytest

from thisthat_lab.train.data.buckets import Shape, collate
from thisthat_lab.train.data.packs import PackedShape, collate_packed
from thisthat_lab.train.data.rows import TrainingRow
from thisthat_lab.train.rehearsal import places_to_rehearse


def row(length: int, slot: int, opened: tuple[int, int] = (0, 0)) -> TrainingRow:
    return TrainingRow(
        tokens=np.arange(1, length + 1, dtype=np.int32),
        at=np.array([slot], dtype=np.int32),
        counts=np.array([2], dtype=np.int32),
        targets=np.array([1, 0], dtype=np.float32),
        weights=np.ones(1, dtype=np.float32),
        outcomes=np.array([-1], dtype=np.int32),
        tags=("x/boolean",),
        where="here",
        opened=np.array(opened, dtype=np.int32),
    )


def test_packed_rows_rehearse_everywhere_but_at_slots_and_ends() -> None:
    batch = collate_packed([row(6, 5), row(5, 2)], PackedShape(1, 16, 8))
    places = places_to_rehearse(batch, 100, 1)
    assert places.tolist() == [0, 1, 2, 3, 4, 6, 7, 9]


def test_padded_rows_do_so_too() -> None:
    batch = collate([row(6, 5), row(5, 2)], Shape(2, 8))
    assert places_to_rehearse(batch, 100, 1).tolist() == [0, 1, 2, 3, 4, 8, 9, 11]


@pytest.mark.parametrize("packed", [True, False])
def test_a_token_that_sees_the_next_one_predicts_nothing(packed: bool) -> None:
    rows = [row(6, 5, (1, 3))]
    batch = collate_packed(rows, PackedShape(1, 8, 8)) if packed else collate(rows, Shape(1, 8))
    assert places_to_rehearse(batch, 100, 1).tolist() == [0, 3, 4]


def test_no_more_places_than_asked_and_others_at_other_steps() -> None:
    batch = collate_packed([row(400, 399)], PackedShape(1, 512, 512))
    found = [places_to_rehearse(batch, 40, step) for step in range(8)]
    assert all(len(places) == 40 for places in found)
    assert len({int(places[0]) for places in found}) > 1
