"""Attention over packed rows through its Triton kernels, against torch row by row."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tests.lab.train.kernels.on_device import CUDA, DEVICE, NEEDS, numbers
from thisthat_lab.train.kernels import plain_ops
from thisthat_lab.train.model.open_rows import open_rows
from thisthat_lab.train.model.row_blocks import blocks_of

pytestmark = NEEDS
TYPE = torch.bfloat16 if CUDA else torch.float32
NEAR = 0.02 if CUDA else 1e-5
LENGTHS = [1, 63, 0, 64, 65, 130, 200]
SHAPES = [(3, 1, 16), (4, 4, 32), (2, 1, 128)]
Span: TypeAlias = tuple[int, int]
# Of each row the first token and the end of what is open: all of it, a part, nothing, over the end
# of a block, and twice in one row.
OPEN: list[list[Span]] = [[(0, 1)], [(7, 40)], [], [(0, 64)], [], [(20, 129)], [(0, 70), (70, 190)]]


@pytest.fixture
def kernels() -> Any:
    from thisthat_lab.train.kernels import attention_launches

    return attention_launches


class Case:
    """Rows of several lengths, what torch makes of them and what comes back for a gradient."""

    def __init__(
        self,
        shape: tuple[int, int, int],
        opened: list[list[Span]] | None = None,
        lengths: list[int] = LENGTHS,
    ) -> None:
        self.heads, self.key_heads, self.width = shape
        ends = torch.tensor([0, *lengths]).cumsum(0)
        self.bounds = torch.cat((ends, ends[-1:])).to(DEVICE, torch.int32)
        self.tokens = int(ends[-1])
        self.causal = opened is None
        self.since = torch.arange(self.tokens, dtype=torch.int32, device=DEVICE)
        for start, spans in zip(ends.tolist(), opened or [], strict=False):
            for first, end in spans:
                self.since[start + first : start + end] = start + first
        turn = numbers(max(lengths), self.width // 2, dtype=torch.float32).repeat(1, 2)
        self.angles = turn.cos().to(TYPE), turn.sin().to(TYPE)
        size = (self.heads + 2 * self.key_heads) * self.width
        self.joined = numbers(self.tokens, size, dtype=TYPE)
        self.d_out = numbers(self.tokens, self.heads * self.width, dtype=TYPE, seed=4)

    def torch(self, d_out: Tensor) -> tuple[Tensor, Tensor]:
        joined = self.joined.float().requires_grad_()
        cos, sin = (angle.float() for angle in self.angles)
        rows = []
        for start, end in pairwise(sorted(set(self.bounds.tolist()))):
            long = end - start
            parts = plain_ops.rope(
                joined[start:end], cos[:long], sin[:long], self.heads, self.key_heads
            )
            query, key, value = (part.transpose(1, 2) for part in parts)
            places = torch.arange(start, end, device=DEVICE)
            mask = self.since[None, start:end] <= places[:, None]
            seen = scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
            rows.append(seen.transpose(1, 2).reshape(long, -1))
        out = torch.cat(rows)
        (d_joined,) = torch.autograd.grad(out, joined, d_out.float())
        return out.detach(), d_joined

    def here(self, kernels: Any, d_out: Tensor, wanted: Tensor | None) -> tuple[Tensor, Tensor]:
        blocks = blocks_of(self.bounds, self.tokens, wanted)
        opened = None if self.causal else open_rows(self.since)
        joined = self.joined.clone()
        heads = self.heads, self.key_heads
        out, logs = kernels.forward(joined, blocks, opened, *self.angles, *heads)
        return out, kernels.backward(joined, out, logs, d_out, blocks, opened, *self.angles)


def assert_near(found: Tensor, wanted: Tensor) -> None:
    off = (found.float() - wanted).norm() / wanted.norm()
    assert off < NEAR


@pytest.mark.parametrize("opened", [None, OPEN])
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_see_themselves_alone_and_gradients_come_back(
    kernels: Any, shape: tuple[int, int, int], opened: list[list[Span]] | None
) -> None:
    case = Case(shape, opened)
    out, d_joined = case.torch(case.d_out)
    found, d_found = case.here(kernels, case.d_out, None)
    assert_near(found, out)
    for mine, theirs in zip(
        d_found.split(case.width, 1), d_joined.split(case.width, 1), strict=True
    ):
        assert_near(mine, theirs)


@pytest.mark.parametrize("opened", [None, OPEN])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_not_wanted_is_left_out_and_has_no_gradient(
    kernels: Any,
    shape: tuple[int, int, int],
    opened: list[list[Span]] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(shape, opened)
    slots = torch.tensor([0, 40, 84, 192, 322, 473, 522], device=DEVICE)
    d_out = torch.zeros_like(case.d_out)
    d_out[slots] = case.d_out[slots]
    out, d_joined = case.torch(d_out)
    monkeypatch.setattr(torch, "empty", partial(torch.full, fill_value=float("nan")))
    found, d_found = case.here(kernels, d_out, slots)
    assert found[323:387].isnan().all()  # the first block of the last row, wanted from its third on
    assert_near(found[slots], out[slots])
    assert_near(d_found, d_joined)


@st.composite
def rows_with_open_states(draw: st.DrawFn) -> tuple[list[int], list[list[Span]]]:
    """Lengths of rows, and in each up to two open stretches, the second right after the first."""
    lengths = draw(st.lists(st.integers(1, 150), min_size=1, max_size=3))
    opened = []
    for length in lengths:
        cuts = sorted(draw(st.lists(st.integers(0, length), max_size=3)))
        opened.append(list(pairwise(cuts)))
    return lengths, opened


@settings(max_examples=200 if CUDA else 8, deadline=None)
@given(rows_with_open_states())
def test_tokens_see_what_is_open_to_them_wherever_it_stands(
    rows: tuple[list[int], list[list[Span]]],
) -> None:
    from thisthat_lab.train.kernels import attention_launches

    lengths, opened = rows
    case = Case((2, 1, 16), opened, lengths)
    found = case.here(attention_launches, case.d_out, None)
    for mine, theirs in zip(found, case.torch(case.d_out), strict=True):
        assert_near(mine, theirs)


@pytest.mark.parametrize("opened", [None, OPEN])
def test_the_same_bits_come_again(kernels: Any, opened: list[list[Span]] | None) -> None:
    case = Case(SHAPES[0], opened)
    first, again = (case.here(kernels, case.d_out, None) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
