"""A feed-forward part in eight-bit floats: its kernels, and on CUDA its products and gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear

from tests.lab.train import tiny
from tests.lab.train.data.test_packs import CPU
from tests.lab.train.kernels.on_device import DEVICE, numbers
from tests.lab.train.tiny import config
from thisthat.errors import InvalidInputError
from thisthat_lab.train.config import Model, parse_run
from thisthat_lab.train.kernels import plain_ops
from thisthat_lab.train.kernels.fused_ops import added_norm, gated, why_not_proven
from thisthat_lab.train.model.backbone import random_backbone
from thisthat_lab.train.model.float8_feed import fed8
from thisthat_lab.train.prepare import prepare

BF16 = torch.bfloat16
TOKENS, SIZE, INNER = 208, 48, 640


@pytest.fixture
def launches() -> Any:
    from thisthat_lab.train.kernels import float8_launches

    return float8_launches


def assert_rounded(found: Any, wanted: Tensor, bits: int) -> None:
    """No number is off by more than half a step."""
    given = found.matrix.float() * found.inverse
    step = 2.0 ** -(bits + 1)
    least = wanted.abs().amax() * 2.0**-16
    assert ((given - wanted).abs() <= 1.02 * step * wanted.abs() + least).all()


needs_kernels = pytest.mark.skipif(
    why_not_proven(DEVICE) is not None, reason="needs a device that rounds to eight-bit floats"
)


@needs_kernels
def test_norms_are_within_the_range_whatever_the_weights(launches: Any) -> None:
    hidden, added = (numbers(TOKENS, SIZE, dtype=BF16, seed=seed) for seed in (1, 2))
    hidden[0] = 0
    hidden[0, 0] = 1000
    added[0] = 0
    weight = numbers(SIZE, dtype=BF16) * 7
    total, found, scales = launches.norm(hidden, added, weight, 1e-5)
    normed, summed, wanted = plain_ops.norm(hidden, added, weight, 1e-5)
    torch.testing.assert_close(total, summed, rtol=1 / 64, atol=1 / 64)
    torch.testing.assert_close(scales, wanted, rtol=1e-2, atol=1e-5)
    off = (found.matrix.float() * found.inverse - normed.float()).norm() / normed.float().norm()
    assert off < 0.04
    assert found.matrix.float().abs().max() <= 448


@needs_kernels
def test_gates_have_a_scale_for_every_row(launches: Any) -> None:
    both = numbers(TOKENS, 2 * INNER, dtype=BF16)
    both[3] *= 1000
    both[4] = 0
    out, scaled = launches.gate(both)
    wanted = plain_ops.gate(both)
    torch.testing.assert_close(out, wanted, rtol=1 / 64, atol=1 / 64)
    assert scaled.inverse.shape == (TOKENS, 1)
    off = (scaled.matrix.float() * scaled.inverse - wanted.float()).norm(dim=1)
    assert (off <= 0.05 * wanted.float().norm(dim=1)).all()


@needs_kernels
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e6])
def test_gradients_of_any_size_keep_their_bits(launches: Any, size: float) -> None:
    both = numbers(TOKENS, 2 * INNER, dtype=BF16)
    behind = numbers(TOKENS, SIZE, dtype=BF16, seed=5) * size
    d_out = numbers(TOKENS, INNER, dtype=BF16, seed=6) * size
    rows, largest = launches.by_rows(behind)
    assert_rounded(rows, behind.float(), bits=3)
    assert largest == behind.abs().max()
    found = launches.gate_back(both, d_out, largest)
    assert_rounded(found, plain_ops.gate_back(both.float(), d_out.float()), bits=2)
    turned = found.transposed()
    assert torch.equal(turned.matrix.view(torch.uint8), found.matrix.view(torch.uint8).t())


@needs_kernels
def test_weights_stand_one_below_the_other_and_may_be_turned(launches: Any) -> None:
    gate, up = numbers(INNER, SIZE, dtype=BF16), numbers(INNER, SIZE, dtype=BF16, seed=7) / 50
    found = launches.weights(gate, up)
    assert_rounded(found, torch.cat((gate, up)).float(), bits=3)
    turned = found.transposed()
    assert turned.matrix.shape == (SIZE, 2 * INNER)
    assert turned.matrix.is_contiguous()
    assert torch.equal(turned.matrix.view(torch.uint8), found.matrix.view(torch.uint8).t())


@needs_kernels
def test_what_is_no_number_stays_none(launches: Any) -> None:
    given = numbers(16, SIZE, dtype=BF16)
    given[2, 3] = float("nan")
    rows, _ = launches.by_rows(given)
    assert rows.matrix.float()[2].isnan().any()


@needs_kernels
def test_values_and_gradients_are_near_those_in_full() -> None:
    given = [
        numbers(1024, 192, dtype=torch.float32),
        numbers(1024, 192, dtype=torch.float32, seed=1),
        1 + numbers(192, dtype=torch.float32, seed=2) / 10,
        numbers(512, 192, dtype=torch.float32, seed=4) / 14,
        numbers(512, 192, dtype=torch.float32, seed=5) / 14,
        numbers(192, 512, dtype=torch.float32, seed=6) / 23,
    ]
    gradients = [numbers(1024, 192, dtype=torch.float32, seed=seed) * 1e-6 for seed in (7, 8)]

    def plain(hidden: Tensor, added: Tensor, after: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
        gate, up, down, epsilon = rest
        normed, total = added_norm(hidden, added, after, epsilon)
        return total, linear(gated(linear(normed, torch.cat((gate, up)))), down)

    def run(part: Any, dtype: torch.dtype) -> list[Tensor]:
        own = [tensor.to(dtype).detach().requires_grad_() for tensor in given]
        made = part(*own, 1e-5)
        back = torch.autograd.grad(made, own, [gradient.to(dtype) for gradient in gradients])
        return [*made, *back]

    for found, wanted in zip(run(fed8, BF16), run(plain, torch.float32), strict=True):
        assert found.dtype == BF16
        assert (found.float() - wanted).norm() < 0.1 * wanted.norm()


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"pack": True, "tokens_per_batch": 1000, "longest": 96}, "tokens_per_batch"),
        ({"pack": False, "tokens_per_batch": 1000, "longest": 97}, "longest"),
    ],
)
def test_batches_of_uneven_size_are_refused(
    workplace: Path, data: dict[str, object], field: str
) -> None:
    table = tiny.run_table(workplace, data=data, model={"initial": "model", "float8": True})
    run = parse_run(table, workplace, "run")
    with pytest.raises(InvalidInputError, match=rf"data\.{field}: is {data[field]}, which makes"):
        prepare(run, print)


def test_float8_is_refused_where_it_cannot_be() -> None:
    def build(**changes: Any) -> None:
        settings = Model.model_validate({"float8": True, "dtype": "bfloat16", **changes})
        random_backbone({**config(), **sizes}, settings, CPU, True)

    sizes: dict[str, int] = {}
    with pytest.raises(InvalidInputError, match=r"model\.float8: needs CUDA, not cpu"):
        build()
    with pytest.raises(InvalidInputError, match=r"model\.float8: is for plain llama layers"):
        build(checkpointing=True)
    with pytest.raises(InvalidInputError, match=r"model\.float8: needs .* not 'float32'"):
        build(dtype="float32")
    sizes = {"intermediate_size": 72}
    with pytest.raises(InvalidInputError, match=r"float8: .*16; .*intermediate_size is 72"):
        build()


def test_float8_and_rounding_as_in_int8_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        Model(float8=True, eight_bit=True)
