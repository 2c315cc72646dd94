"""Attention of a joined layer in its own kernels: a whole model with them against one without."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.lab.train.data.test_packs import row
from tests.lab.train.kernels.on_device import CUDA, DEVICE, needs_kernels
from tests.lab.train.tiny import config
from thisthat_lab.train.config import Loop, Model
from thisthat_lab.train.data.buckets import Shape
from thisthat_lab.train.data.packs import packed_shapes
from thisthat_lab.train.data.stream import fed_batches
from thisthat_lab.train.kernels.fused_ops import why_not_proven
from thisthat_lab.train.model import backbone as backbones
from thisthat_lab.train.model.backbone import TrainedBackbone, random_backbone
from thisthat_lab.train.model.rows_attention import can_attend

SHAPE = config(
    hidden_size=64, num_attention_heads=4, num_key_value_heads=2, head_dim=16, num_hidden_layers=3
)
PACKED, PADDED = packed_shapes(640, 160), [Shape(4, 150)]
NEAR = 0.05 if CUDA else 1e-4
CAUSAL, OPEN = [(0, 0)] * 3, [(0, 0), (10, 120), (0, 101)]


def results(backbone: TrainedBackbone, packed: bool, spans: list[tuple[int, int]]) -> list[Tensor]:
    """The logits of rows with slots at several places, and every gradient they give."""
    lengths = (20, 150, 101)
    rows = [
        row(n, number, span) for number, (n, span) in enumerate(zip(lengths, spans, strict=True))
    ]
    (fed,) = fed_batches(rows, PACKED if packed else PADDED)
    tokens, places, at = (part.to(DEVICE) for part in (fed.tokens, fed.row, fed.at))
    logits = backbone(tokens, places, at, fed.sight(DEVICE))
    logits.square().mean().backward()
    return [logits, *(p.grad for _, p in backbone.trained() if p.grad is not None)]


@needs_kernels
@pytest.mark.parametrize("spans", [CAUSAL, OPEN])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "settings", [{}, {"train": "trunk"}, {"loop": Loop(first=0, last=1, times=2)}]
)
def test_a_model_with_the_kernels_answers_and_learns_as_one_without(
    packed: bool,
    spans: list[tuple[int, int]],
    settings: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Model.model_validate({"dtype": "bfloat16" if CUDA else "float32", **settings})
    made = []
    for with_kernels in (True, False):
        torch.manual_seed(3)
        backbone = random_backbone(SHAPE, model, DEVICE, packed)
        monkeypatch.setattr(backbones, "can_attend", lambda *_, answer=with_kernels: answer)
        made.append(results(backbone, packed, spans))
    assert len(made[0]) == len(made[1]) > 20
    for found, wanted in zip(*made, strict=True):
        assert (found - wanted).float().norm() <= NEAR * wanted.float().norm()


def test_only_bfloat16_on_a_proven_device_is_attended_to() -> None:
    assert not can_attend(torch.empty(2, 4), 64)
    assert can_attend(torch.empty(2, 4, dtype=torch.bfloat16, device=DEVICE), 64) == (
        why_not_proven(DEVICE) is None
    )
    assert not can_attend(torch.empty(2, 4, dtype=torch.bfloat16, device=DEVICE), 48)
