"""The recipe for one card of 16 GB, end to end; the whole 1.88 B where there is a GPU."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.lab.train import one_card_teach
from tests.lab.train.one_card import MOST_SHAPES, go_through, shape_of
from thisthat_lab.bench.timing.gpu_variants import LARGE_SHAPE
from thisthat_lab.train.memory import GIB

SMALL = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
}


def test_from_a_hub_folder_to_lambda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    shape = dict(LARGE_SHAPE)
    if device.type == "cpu":
        # Compiling a step takes longer than all steps here.
        monkeypatch.setattr(torch, "compile", lambda function, **_: function)
        shape = {**shape_of(4, 600), **SMALL}
    steps, rate = (12, 1e-4) if device.type == "cuda" else (8, 2e-3)
    found = go_through(tmp_path, shape, device, print, steps=steps, rate=rate)
    assert found.resumed_at == steps // 2
    assert np.isfinite(found.losses).all()
    if device.type == "cuda":  # The few small steps of a CPU show the way, not what is learned.
        assert sum(found.losses[-2:]) < sum(found.losses[:2])
    assert found.shapes <= MOST_SHAPES
    if found.peak_bytes is not None:
        assert found.peak_bytes <= 15.9 * GIB
    assert found.answers[0.0] == found.base
    assert len({*found.answers.values()}) == 3


def test_taught_where_little_memory_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    shape, minutes = dict(LARGE_SHAPE), 0.5
    if device.type == "cpu":
        monkeypatch.setattr(torch, "compile", lambda function, **_: function)
        monkeypatch.setattr(one_card_teach, "ROWS", 100)
        shape, minutes = {**shape_of(4, 600), **SMALL}, 0.002
    said: list[str] = []
    found = one_card_teach.go_through(tmp_path, shape, device, said.append, minutes=minutes)
    taught, zero, base = found.answers
    assert taught != zero == base
    assert found.taught.light is None
    assert found.taught.trained_rows + found.taught.held_out_rows == one_card_teach.ROWS
    if found.peak_bytes is not None:
        assert found.peak_bytes <= 16 * GIB
    assert any(line.startswith("accuracy on") for line in said)
