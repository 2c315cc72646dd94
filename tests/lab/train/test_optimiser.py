from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from thisthat_lab.train import optimiser as module
from thisthat_lab.train.config import Optimiser
from thisthat_lab.train.optimiser import Stepper


def parameters(seed: int = 0) -> list[tuple[str, nn.Parameter]]:
    generator = torch.Generator().manual_seed(seed)
    return [
        ("table", nn.Parameter(torch.randn(80, 256, generator=generator))),
        ("norm", nn.Parameter(torch.ones(256))),
    ]


def stepped(stepper: Stepper, times: int = 3) -> None:
    for turn in range(times):
        generator = torch.Generator().manual_seed(turn)
        for parameter in stepper.parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        stepper.gather()
        stepper.step(1e-2)


def state_of(stepper: Stepper) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in stepper.state().items()}


@pytest.fixture(autouse=True)
def uncompiled() -> Iterator[None]:
    pytest.importorskip("torchao.optim")
    with torch.compiler.set_stance("force_eager"):
        yield


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LARGEST_PIECE", 32 * 256)


def test_a_large_table_moves_in_pieces_as_it_would_in_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Optimiser(name="adamw-8bit", rate=1e-2)
    whole = Stepper(parameters(), settings)
    monkeypatch.setattr(module, "LARGEST_PIECE", 32 * 256)
    cut = Stepper(parameters(), settings)
    stepped(whole)
    stepped(cut)
    assert len([name for name in cut.state() if name.startswith("moment/table[")]) > 3
    before = dict(parameters())["table"]
    for one, other in zip(whole.parameters, cut.parameters, strict=True):
        torch.testing.assert_close(one, other)
    assert not torch.equal(cut.parameters[0], before)


@pytest.mark.usefixtures("small_pieces")
def test_pieces_go_on_from_what_was_saved() -> None:
    settings = Optimiser(name="adamw-8bit", rate=1e-2)
    first = Stepper(parameters(), settings)
    stepped(first)
    saved = state_of(first)
    second = Stepper(parameters(seed=1), settings)
    stepped(second, 1)  # moments exist once a step was taken
    second.load(saved)
    stepped(first)
    stepped(second)
    for one, other in zip(first.parameters, second.parameters, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.usefixtures("small_pieces")
def test_no_gradient_outlives_a_step() -> None:
    stepper = Stepper(parameters(), Optimiser(name="adamw-8bit", rate=1e-2))
    stepped(stepper)
    assert all(parameter.grad is None for parameter in stepper.parameters)


def test_lower_layers_move_more_slowly_with_layer_decay() -> None:
    named = [
        (f"trunk.layers.{layer}.weight", nn.Parameter(torch.zeros(4, 4))) for layer in range(3)
    ]
    named.append(("trunk.norm.weight", nn.Parameter(torch.zeros(4))))
    stepper = Stepper(named, Optimiser(name="adamw", rate=1e-2, layer_decay=0.5))
    for _, parameter in named:
        parameter.grad = torch.ones_like(parameter)
    stepper.gather()
    stepper.step(1e-2)
    moved = [float(parameter.detach().abs().max()) for _, parameter in named]
    torch.testing.assert_close(moved, [0.0025, 0.005, 0.01, 0.01], rtol=1e-3, atol=0)
