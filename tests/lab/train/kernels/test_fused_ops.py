"""The parts of a joined layer in plain torch: right values, right gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.nn import functional
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from thisthat_lab.train.kernels.fused_ops import added_norm, gated, roped, rounded


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return made.requires_grad_()


def angles(length: int, width: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    turn = numbers(length, width // 2, seed=9).detach().repeat(1, 2)
    return turn.cos().to(dtype), turn.sin().to(dtype)


@pytest.mark.parametrize("adds", [False, True])
def test_the_norm_of_a_sum_and_the_sum(adds: bool) -> None:
    hidden, weight = numbers(5, 12), numbers(12, seed=1)
    added = numbers(5, 12, seed=2) if adds else None
    normed, total = added_norm(hidden, added, weight, 1e-5)
    wanted = hidden if added is None else hidden + added
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(normed, functional.rms_norm(wanted, (12,), weight, 1e-5))
    given = [hidden, weight] if added is None else [hidden, added, weight]

    def both(*parts: Tensor) -> tuple[Tensor, Tensor]:
        return added_norm(parts[0], parts[1] if adds else None, parts[-1], 1e-5)

    assert gradcheck(both, given)


def test_the_norm_alone_or_the_sum_alone_may_be_used() -> None:
    hidden, weight = numbers(4, 6), numbers(6, seed=1)
    assert gradcheck(lambda h, w: added_norm(h, None, w, 1e-5)[0], (hidden, weight))
    assert gradcheck(lambda h, w: added_norm(h, None, w, 1e-5)[1] * w, (hidden, weight))


def test_heads_are_turned_as_transformers_turns_them() -> None:
    rows, length, heads, key_heads, width = 2, 5, 3, 1, 8
    joined = numbers(rows * length, (heads + 2 * key_heads) * width)
    cos, sin = angles(length, width)
    query, key, value = roped(joined, cos, sin, heads, key_heads)
    parts = joined.view(rows, length, -1, width).transpose(1, 2)
    wanted = apply_rotary_pos_emb(parts[:, :3], parts[:, 3:4], cos[None], sin[None])
    torch.testing.assert_close(query.transpose(1, 2), wanted[0])
    torch.testing.assert_close(key.transpose(1, 2), wanted[1])
    torch.testing.assert_close(value.transpose(1, 2), parts[:, 4:])
    # Through transposed views, so that gradients come back with strides of their own.
    assert gradcheck(
        lambda given: tuple(
            part.transpose(1, 2).contiguous() for part in roped(given, cos, sin, heads, key_heads)
        ),
        (joined,),
    )


def test_the_gate() -> None:
    both = numbers(4, 14)
    torch.testing.assert_close(gated(both), functional.silu(both[:, :7]) * both[:, 7:])
    assert gradcheck(gated, (both,))


def test_rounded_rows_have_at_most_255_values_and_gradients_pass() -> None:
    rows = numbers(5, 300, seed=1, dtype=torch.float32)
    found = rounded(rows)
    steps = rows.detach().abs().amax(-1, keepdim=True) / 127
    whole = found.detach() / steps
    torch.testing.assert_close(whole, whole.round(), atol=1e-3, rtol=0)
    assert ((found - rows).detach().abs() <= steps / 2 + 1e-6).all()
    found.sum().backward()  # type: ignore[no-untyped-call]
    assert rows.grad is not None
    assert (rows.grad == 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_results_have_the_type_of_what_is_given(dtype: torch.dtype) -> None:
    hidden, weight = numbers(3, 16, dtype=dtype), numbers(16, dtype=dtype)
    cos, sin = angles(3, 4, dtype)
    made = [
        *added_norm(hidden, hidden, weight, 1e-5),
        *roped(hidden, cos, sin, 2, 1),
        gated(hidden),
        rounded(hidden),
    ]
    assert {tensor.dtype for tensor in made} == {dtype}
    sum(tensor.float().sum() for tensor in made).backward()  # type: ignore[union-attr]
    assert hidden.grad is not None
    assert hidden.grad.dtype == dtype
