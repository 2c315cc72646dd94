"""Kernels that Triton makes ready are counted; whoever listened before still hears of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.engine.cuda.plain_ops import PlainOps
from tests.engine.trees import LABELS, question, random_model
from thisthat.engine.cuda import runner
from thisthat.engine.cuda.batch_sizes import Grid
from thisthat.engine.cuda.capture import NoRecorder
from thisthat.engine.cuda.compiles import Compiles
from thisthat.engine.cuda.model import PackedModel
from thisthat.engine.cuda.runner import PackedRunner
from thisthat.engine.rows import Row
from thisthat.engine.torch.label_head import LabelHead


def test_every_kernel_counts_and_other_listeners_are_told() -> None:
    told: list[Any] = []
    runtime = SimpleNamespace(jit_post_compile_hook=lambda **known: told.append(known["key"]))
    compiles = Compiles(runtime)
    for key in ("one", "two"):
        runtime.jit_post_compile_hook(key=key)
    assert compiles.count == 2
    assert told == ["one", "two"]


def test_nobody_else_need_listen() -> None:
    runtime = SimpleNamespace(jit_post_compile_hook=None)
    compiles = Compiles(runtime)
    assert runtime.jit_post_compile_hook(key="one") is None
    assert compiles.count == 1


def test_those_of_a_request_are_counted_and_those_before_it_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = SimpleNamespace(count=0)
    monkeypatch.setattr(runner, "kernels_compiled", lambda: made.count)
    model = random_model("llama")
    head = LabelHead(model, LABELS)
    forward = PackedModel(model, head, PlainOps())

    def compiling(tables: Any) -> torch.Tensor:
        made.count += 1
        return forward(tables)

    served = PackedRunner(
        compiling,
        device=torch.device("cpu"),
        labels=len(LABELS),
        grid=Grid(()),
        recorder=NoRecorder(),
    )
    made.count += 5
    assert served.statistics.compiles_after_start == 0
    for _ in range(2):
        served.begin([Row((), (1, 2), (question((3,)),))]).answers()
    assert served.statistics.compiles_after_start == 2
    served.start_counting()
    assert served.statistics.compiles_after_start == 0
