"""Attention over packed rows through its Triton kernels, against torch row by row."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tests.train.kernels import CUDA, DEVICE, NEEDS, numbers
from thisthat.train import plain_ops
from thisthat.train.row_blocks import blocks_of

pytestmark = NEEDS
TYPE = torch.bfloat16 if CUDA else torch.float32
NEAR = 0.02 if CUDA else 1e-5
LENGTHS = [1, 63, 0, 64, 65, 130, 200]
SHAPES = [(3, 1, 16), (4, 4, 32), (2, 1, 128)]


@pytest.fixture
def kernels() -> Any:
    from thisthat.train import attention_launches

    return attention_launches


class Case:
    """Rows of several lengths, what torch makes of them and what comes back for a gradient."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.heads, self.key_heads, self.width = shape
        ends = torch.tensor([0, *LENGTHS]).cumsum(0)
        self.bounds = torch.cat((ends, ends[-1:])).to(DEVICE, torch.int32)
        self.tokens = int(ends[-1])
        turn = numbers(max(LENGTHS), self.width // 2, dtype=torch.float32).repeat(1, 2)
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
            parts = plain_ops.turn(
                joined[start:end], cos[:long], sin[:long], self.heads, self.key_heads
            )
            query, key, value = (part.transpose(1, 2) for part in parts)
            seen = scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
            rows.append(seen.transpose(1, 2).reshape(long, -1))
        out = torch.cat(rows)
        (d_joined,) = torch.autograd.grad(out, joined, d_out.float())
        return out.detach(), d_joined

    def here(self, kernels: Any, d_out: Tensor, wanted: Tensor | None) -> tuple[Tensor, Tensor]:
        blocks = blocks_of(self.bounds, self.tokens, wanted)
        joined = self.joined.clone()
        out, logs = kernels.forward(joined, blocks, *self.angles, self.heads, self.key_heads)
        return out, kernels.backward(joined, out, logs, d_out, blocks, *self.angles)


def assert_near(found: Tensor, wanted: Tensor) -> None:
    off = (found.float() - wanted).norm() / wanted.norm()
    assert off < NEAR


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_see_themselves_alone_and_gradients_come_back(
    kernels: Any, shape: tuple[int, int, int]
) -> None:
    case = Case(shape)
    out, d_joined = case.torch(case.d_out)
    found, d_found = case.here(kernels, case.d_out, None)
    assert_near(found, out)
    for mine, theirs in zip(
        d_found.split(case.width, 1), d_joined.split(case.width, 1), strict=True
    ):
        assert_near(mine, theirs)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_not_wanted_is_left_out_and_has_no_gradient(
    kernels: Any, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(shape)
    slots = torch.tensor([0, 40, 84, 192, 322, 473, 522], device=DEVICE)
    d_out = torch.zeros_like(case.d_out)
    d_out[slots] = case.d_out[slots]
    out, d_joined = case.torch(d_out)
    monkeypatch.setattr(torch, "empty", partial(torch.full, fill_value=float("nan")))
    found, d_found = case.here(kernels, d_out, slots)
    assert found[323:387].isnan().all()  # the first block of the last row, wanted from its third on
    assert_near(found[slots], out[slots])
    assert_near(d_found, d_joined)


def test_the_same_bits_come_again(kernels: Any) -> None:
    case = Case(SHAPES[0])
    first, again = (case.here(kernels, case.d_out, None) for _ in range(2))
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
