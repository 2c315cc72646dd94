"""The Triton kernels against what defines them, on a CPU in Triton's interpreter."""

import os
from importlib.util import find_spec

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.engine.cuda.plain_ops import PlainOps
from tests.engine.trees import question
from thisthat.engine.cuda.ops import LARGEST_FLOAT8, DeviceTables, KeptStates, Ops, Rounded
from thisthat.engine.cuda.packed_batch import (
    Need,
    PackedRow,
    Tables,
    table_entries,
    write_batch,
)
from thisthat.engine.cuda.prefix_slots import SlotRange
from thisthat.engine.cuda.shapes import AttentionShape, DeltaShape
from thisthat.engine.rows import Row

pytestmark = [
    pytest.mark.skipif(find_spec("triton") is None, reason="needs triton"),
    pytest.mark.skipif(
        np.lib.NumpyVersion(np.__version__) >= "2.4.0", reason="the interpreter needs NumPy < 2.4"
    ),
    pytest.mark.skipif(torch.cuda.is_available(), reason="a device runs them itself: test_cuda"),
]
SHAPES = [
    AttentionShape(heads=6, key_heads=2, size=16, rotated=16, scale=0.25, gated=False),
    AttentionShape(heads=2, key_heads=1, size=32, rotated=8, scale=0.2, gated=True),
]
PREFIX = tuple(range(70, 170))
SPAN = SlotRange(30, 130)
ROWS = [
    PackedRow(Row((), tuple(range(9)), (question((5, 6)), question((7,))), opened=9)),
    PackedRow(Row((1, 2, 3), tuple(range(150)), (question((5,) * 70), question((7,) * 20)))),
    PackedRow(Row(PREFIX, tuple(range(140)), (question((5,)), question((7, 8))), 130), kept=SPAN),
]


@pytest.fixture(scope="module")
def fused() -> Ops:
    # Read when triton is first imported, which nothing else does where there is no device.
    os.environ["TRITON_INTERPRET"] = "1"
    from thisthat.engine.cuda.fused_ops import FusedOps

    return FusedOps()


def laid(rows: list[PackedRow]) -> DeviceTables:
    room = sum((row.need for row in rows), Need()) + Need(5, 2, 2, 2, 2)
    memory = np.zeros(table_entries(room), np.int32)
    write_batch(rows, Tables.views(memory, room))
    return Tables.views(torch.from_numpy(memory), room)


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def near(found: Tensor, wanted: Tensor) -> None:
    torch.testing.assert_close(found, wanted, atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("size", [48, 576, 1100])
def test_norms(fused: Ops, size: int) -> None:
    x, weight = drawn(7, size), drawn(size)
    near(fused.norm(x, weight, 1e-5), PlainOps().norm(x, weight, 1e-5))


@pytest.mark.parametrize("size", [48, 2100])
def test_gated_products(fused: Ops, size: int) -> None:
    x = drawn(5, 2 * size)
    near(fused.gated_product(x), PlainOps().gated_product(x))


@pytest.mark.parametrize("shape", SHAPES, ids=["plain", "gated"])
@pytest.mark.parametrize("places", [0, 140])
def test_rotation_and_attention(fused: Ops, shape: AttentionShape, places: int) -> None:
    kept = PackedRow(Row((), PREFIX, ()), keep_at=SPAN)
    rows = [*ROWS, kept] if places else [*ROWS[:2], PackedRow(ROWS[2].row)]
    tables = laid(rows)
    tokens = len(tables.ids)
    projected = drawn(tokens, shape.columns)
    turned = tables.positions[:, None] * drawn(shape.rotated // 2)
    angles = (turned.cos(), turned.sin())
    weights = drawn(2, shape.size) if shape.gated else None
    found = []
    for ops in (fused, PlainOps()):
        prefix_kv = drawn(2, places, shape.key_heads * shape.size) if places else None
        heads = ops.rope(projected, shape, angles, weights, tables, prefix_kv)
        used = sum(row.tokens for row in rows)
        attended = ops.attend(heads, projected, shape, tables, prefix_kv)[:used]
        found.append((heads, attended, torch.zeros(0) if prefix_kv is None else prefix_kv))
    for ours, defined in zip(*found, strict=True):
        near(ours, defined)


@pytest.mark.parametrize("states", [0, 4])
def test_the_delta_rule(fused: Ops, states: int) -> None:
    shape = DeltaShape(2, 4, 16, 16, taps=4, epsilon=1e-6)
    rows = [*ROWS[:2], PackedRow(ROWS[2].row)]
    if states:
        rows = [
            *ROWS[:2],
            *(PackedRow(row.row, kept=SlotRange(0, 100, 1)) for row in ROWS[1:]),
            PackedRow(Row(PREFIX, (), (question((5,)), question((7,)))), kept=SlotRange(0, 100, 1)),
            PackedRow(Row((), PREFIX, ()), keep_at=SlotRange(100, 200, 3)),
            PackedRow(Row((), (8, 9), ()), keep_at=SlotRange(200, 202, 0)),
        ]
    tables = laid(rows)
    used = sum(row.tokens for row in rows)
    projected = drawn(len(tables.ids), shape.columns)
    found = []
    for ops in (fused, PlainOps()):
        kept = None
        if states:
            kept = KeptStates(drawn(states, 4, 16, 16), drawn(states, 3, shape.convolved))
        taps, decay, bias = drawn(shape.convolved, 4), drawn(4), drawn(5)[:4]
        answer = ops.delta(projected, shape, taps, decay, bias, tables, kept)[:used]
        found.append([answer] if kept is None else [answer, kept.states, kept.history])
    for ours, defined in zip(*found, strict=True):
        torch.testing.assert_close(ours, defined, atol=2e-4, rtol=2e-4)


@pytest.fixture
def unrounded(fused: Ops, monkeypatch: pytest.MonkeyPatch) -> Ops:
    """Scaled but not rounded: Triton 3.6 interprets float8 wrongly where a digit carries."""
    from thisthat.engine.cuda import ops, token_ops

    monkeypatch.setattr(ops, "FLOAT8", torch.float32)
    monkeypatch.setattr(token_ops, "FLOAT8", torch.float32)
    return fused


def near_rows(found: Rounded, wanted: Rounded) -> None:
    torch.testing.assert_close(found.scales, wanted.scales)
    torch.testing.assert_close(found.values, wanted.values, atol=1e-3, rtol=1e-4)
    assert float(found.values.abs().max()) == pytest.approx(LARGEST_FLOAT8)


@pytest.mark.parametrize("size", [48, 576, 2100])
def test_rows_for_float8(unrounded: Ops, size: int) -> None:
    x = drawn(7, 2 * size)
    x[3] = 0
    near_rows(unrounded.rounded(x), PlainOps().rounded(x))
    near_rows(unrounded.rounded_gate(x), PlainOps().rounded_gate(x))


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("size", [48, 576, 1100])
def test_norms_for_float8(unrounded: Ops, size: int, added: bool) -> None:
    weight, more = drawn(size), drawn(9, size)[:7] if added else None
    found = []
    for ops in (unrounded, PlainOps()):
        x = drawn(7, size)
        found.append((ops.rounded_norm(x, more, weight, 1e-5), x))
    (ours, total), (theirs, wanted) = found
    near_rows(ours, theirs)
    near(total, wanted)
