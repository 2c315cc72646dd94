import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.train.tiny import config
from thisthat.checkpoint.shapes import expected_shapes
from thisthat.errors import InvalidInputError
from thisthat_lab.train.config import Model
from thisthat_lab.train.data.buckets import Buckets, Shape
from thisthat_lab.train.data.packs import Packs, packed_shapes, positions_in_rows
from thisthat_lab.train.data.rows import TrainingRow
from thisthat_lab.train.data.stream import feed_batch
from thisthat_lab.train.model.backbone import build_backbone

CPU = torch.device("cpu")
WEIGHTS = {
    name: np.random.default_rng(1).normal(scale=0.1, size=shape).astype(np.float32)
    for name, shape in expected_shapes(config()).items()
}


def row(length: int, seed: int = 0, opened: tuple[int, int] = (0, 0)) -> TrainingRow:
    random = np.random.default_rng(seed)
    return TrainingRow(
        tokens=random.integers(0, 60, size=length, dtype=np.int32),
        at=np.array([length // 2, length - 1]),
        counts=np.array([2, 3]),
        targets=np.array([1, 0, 0, 1, 0], dtype=np.float32),
        weights=np.ones(2, dtype=np.float32),
        outcomes=np.array([-1, -1]),
        tags=("one/boolean", "two/choice"),
        where=f"row {seed}",
        opened=np.array(opened, dtype=np.int32),
    )


@given(st.lists(st.integers(2, 40), min_size=1, max_size=60))
def test_every_row_is_packed_once_and_found_again(lengths: list[int]) -> None:
    packs = Packs(packed_shapes(100, 40))
    rows = [row(length, number) for number, length in enumerate(lengths)]
    batches = [batch for r in rows if (batch := packs.add(r)) is not None] + packs.flush()
    found = []
    for batch in batches:
        assert batch.tokens.shape == (1, 100)
        assert batch.bounds is not None
        assert np.diff(batch.bounds).min() >= 0
        assert np.diff(batch.bounds).max() <= 40
        assert batch.bounds[-1] == 100
        ends = batch.bounds[1 : len(batch.wheres) + 1]
        starts = batch.bounds[: len(batch.wheres)]
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            mine = batch.row == number
            found.append((batch.tokens[0, start:end].tolist(), (batch.at[mine] - start).tolist()))
    assert found == [(r.tokens.tolist(), r.at.tolist()) for r in rows]


def test_what_is_held_goes_on_where_it_was() -> None:
    shape = packed_shapes(100, 40)
    whole, first = Packs(shape), Packs(shape)
    rows = [row(30, number) for number in range(7)]
    for r in rows[:5]:
        whole.add(r)
        first.add(r)
    second = Packs(shape, first.waiting)
    for r in rows[5:]:
        left, right = whole.add(r), second.add(r)
        assert (left is None) == (right is None)
        if left is not None and right is not None:
            assert (left.tokens == right.tokens).all()


def test_short_and_long_rows_do_not_share_a_sequence() -> None:
    packs = Packs(packed_shapes(2048, 1024))
    rows = [row(length, length) for length in (100, 900, 512, 513, 300, 1024, 40)]
    batches = [batch for r in rows if (batch := packs.add(r)) is not None] + packs.flush()
    for batch in batches:
        lengths = [int(where.removeprefix("row ")) for where in batch.wheres]
        assert all(length <= 512 for length in lengths) or all(length > 512 for length in lengths)
    assert sorted(where for batch in batches for where in batch.wheres) == sorted(
        r.where for r in rows
    )


def test_positions_start_anew_in_every_row() -> None:
    bounds = torch.tensor([0, 3, 5, 8, 8], dtype=torch.int32)
    assert positions_in_rows(bounds, 8).tolist() == [[0, 1, 2, 0, 1, 0, 1, 2]]


def test_rows_that_cannot_fit_are_named() -> None:
    with pytest.raises(InvalidInputError, match="row 3: has 41 tokens; the longest may have 40"):
        Packs(packed_shapes(100, 40)).add(row(41, 3))
    with pytest.raises(
        InvalidInputError, match=r"data\.tokens_per_batch: is 30, less than one row"
    ):
        packed_shapes(30, 40)


@pytest.mark.parametrize("is_open", [False, True])
def test_packed_rows_give_the_logits_of_padded_ones(is_open: bool) -> None:
    spans = [(0, 9), (5, 30), (0, 0), (10, 12)] if is_open else [(0, 0)] * 4
    rows = [row(n, n, span) for n, span in zip((12, 40, 7, 25), spans, strict=True)]
    packs, buckets = Packs(packed_shapes(800, 40)), Buckets([Shape(4, 40)])
    for r in rows:
        packs.add(r)
    packed_batch = packs.flush()[0]
    padded_batch = next(b for r in rows if (b := buckets.add(r)) is not None)
    results = []
    for batch, packed in ((packed_batch, True), (padded_batch, False)):
        backbone = build_backbone(config(), WEIGHTS, range(255), Model(), CPU, packed)
        fed = feed_batch(batch, pin=False)
        tokens, places, at, *_ = fed.to(CPU)
        logits = backbone(tokens, places, at, fed.sight(CPU))
        logits.square().sum().backward()
        gradient = backbone.trunk.layers[0].self_attn.q_proj.weight.grad
        results.append((logits.detach(), gradient))
    torch.testing.assert_close(results[0][0], results[1][0], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(results[0][1], results[1][1], atol=1e-4, rtol=1e-3)
