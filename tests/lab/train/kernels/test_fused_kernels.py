"""The Triton kernels of a joined layer against plain torch: on CUDA, or in Triton's interpreter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.lab.train.kernels.on_device import DEVICE, NEEDS
from thisthat_lab.train.kernels import plain_ops

pytestmark = NEEDS
TYPES = [torch.float32, torch.bfloat16]
SIZES = [(37, 48), (5, 576), (130, 33)]
random = torch.Generator().manual_seed(3)


@pytest.fixture
def fused() -> Any:
    from thisthat_lab.train.kernels import fused_launches

    return fused_launches


def numbers(*shape: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(shape, generator=random).to(DEVICE, dtype)


def assert_near(found: Any, wanted: Any) -> None:
    """Within the last bits of float32, or one of bfloat16, which the interpreter cuts off."""
    if isinstance(wanted, Tensor):
        found, wanted = (found,), (wanted,)
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        near = 1 / 64 if mine.dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(mine, theirs, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "size"), SIZES)
@pytest.mark.parametrize("adds", [False, True])
def test_norms(fused: Any, rows: int, size: int, dtype: torch.dtype, adds: bool) -> None:
    hidden, weight = numbers(rows, size, dtype=dtype), numbers(size, dtype=dtype)
    added = numbers(rows, size, dtype=dtype) if adds else None
    found = fused.norm(hidden, added, weight, 1e-5)
    normed, total, scales = plain_ops.norm(hidden, added, weight, 1e-5)
    assert_near(found[:2], (normed, total))
    torch.testing.assert_close(found[2], scales, rtol=1e-2 if adds else 1e-5, atol=1e-5)
    gradients = [numbers(rows, size, dtype=dtype) for _ in range(2)]
    assert_near(
        fused.norm_back(total, weight, scales, *gradients),
        plain_ops.norm_back(total, weight, scales, *gradients),
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [16, 24])
def test_turns_there_and_back(fused: Any, width: int, dtype: torch.dtype) -> None:
    rows, length, heads, key_heads = 3, 17, 4, 2
    joined = numbers(rows * length, (heads + 2 * key_heads) * width, dtype=dtype)
    turn = numbers(length, width // 2, dtype=torch.float32).repeat(1, 2)
    angles = turn.cos().to(dtype), turn.sin().to(dtype)
    found = fused.rope(joined, *angles, heads, key_heads)
    assert_near(found, plain_ops.rope(joined, *angles, heads, key_heads))
    assert_near(fused.rope_back(*found, *angles), joined)
    heads_first = [
        numbers(rows, many, length, width, dtype=dtype).transpose(1, 2)
        for many in (heads, key_heads, key_heads)
    ]
    spread = [numbers(*part.shape, 2, dtype=dtype)[..., 0] for part in found]
    for query, key, value in (heads_first, spread):
        assert_near(
            fused.rope_back(query, key, value, *angles),
            plain_ops.rope_back(query, key, value, *angles),
        )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [48, 600])
def test_gates(fused: Any, size: int, dtype: torch.dtype) -> None:
    both, gradient = numbers(37, 2 * size, dtype=dtype), numbers(37, size, dtype=dtype)
    assert_near(fused.gate(both), plain_ops.gate(both))
    assert_near(fused.gate_back(both, gradient), plain_ops.gate_back(both, gradient))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("rows", "size"), [*SIZES, (3, 5000)])
def test_rounding(fused: Any, rows: int, size: int, dtype: torch.dtype) -> None:
    given = numbers(rows, size, dtype=dtype)
    given[0] = 0
    assert_near(fused.round_rows(given), plain_ops.round_rows(given))
    halves = torch.arange(-127, 128, dtype=torch.float32, device=given.device)[None] / 2
    halves[0, 0] = -127
    torch.testing.assert_close(fused.round_rows(halves), halves.round(), rtol=0, atol=0)
