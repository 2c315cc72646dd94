"""A taught checkpoint at λ = 0 answers as its parent does, to the last bit, on every engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thisthat
from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.ship import ship_delta, ship_taught
from thisthat.engine.native.compiler import CannotCompileError, library_here
from thisthat.prompt_format import PromptFormat
from thisthat.questions import Boolean, Choice
from thisthat.temperature import Temperatures

STATES = ("The colour is red.", '{"colour": "blue", "size": 3}')
QUESTIONS = {"red": Boolean("Is it red?"), "which": Choice(["red", "green", "blue"], "Which?")}


def moved(weights: Weights, seed: int) -> Weights:
    random = np.random.default_rng(seed)
    return {
        name: tensor + np.float32(0.02) * random.standard_normal(tensor.shape, dtype=np.float32)
        for name, tensor in weights.items()
    }


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three deltas on a model: the first two for int8 and open states, the third for neither."""
    folder = tmp_path_factory.mktemp("stacked")
    sizes = {"hidden_size": 128, "intermediate_size": 192, "head_dim": 64}
    tiny.write_checkpoint(folder / "model", **sizes)
    below = open_checkpoint(folder / "model")
    card = replace(
        below.card,
        name="first",
        prompt=PromptFormat(open_state=True),
        byte_weights=True,
        byte_activations=True,
        temperatures=Temperatures(1.3),
    )
    ship_delta(below, moved(below.weights(), 1), folder / "first", card, bits=8)
    cards = (
        replace(card, name="second", temperatures=Temperatures(0.7)),
        replace(
            card, name="third", prompt=PromptFormat(), byte_weights=False, byte_activations=False
        ),
    )
    for seed, each in enumerate(cards, 2):
        below = open_checkpoint(folder / ("first", "second")[seed - 2])
        ship_taught(below, moved(below.weights(), seed), folder / each.name, each, bits=8)
    return folder


def answers(ref: Path | str, lam: float | None, **settings: Any) -> list[Any]:
    """Everything that is answered in both layouts, and the engine that did."""
    with thisthat.open(ref, lam=lam, threads=1, **settings) as decider:
        reading = decider.reading
        found: list[Any] = [decider.engine.description, reading, decider.source.weights]
        for layout in reading.layouts:
            for state in STATES:
                decision = decider.decide(state, QUESTIONS, layout=layout)
                found += [dict(answer.probabilities) for answer in decision.answers.values()]
    return found


@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "native"},
        {"engine": "onnx", "form": "int8"},
        {"engine": "onnx", "form": "float32"},
        {"engine": "torch", "device": "cpu", "dtype": "float32"},
        {"device": "cpu"},
    ],
    ids=["native", "onnx int8", "onnx float32", "torch", "auto"],
)
def test_lambda_zero_answers_as_the_parent_bit_for_bit(
    settings: dict[str, Any], stack: Path
) -> None:
    if settings.get("engine") == "native":
        try:
            library_here()
        except CannotCompileError as error:
            pytest.skip(str(error))
    for child, parent in (("third", "second"), ("second", "first")):
        expected = answers(stack / parent, None, **settings)
        assert answers(stack / child, 0.0, **settings) == expected
        for lam in (0.5, 1.0):
            assert answers(stack / child, lam, **settings)[3:] != expected[3:]


@pytest.mark.weights
def test_a_checkpoint_taught_from_the_default_can_be_turned_off(tmp_path: Path) -> None:
    default = open_checkpoint()
    trained = default.weights()
    trained["model.norm.weight"] = trained["model.norm.weight"] * np.float32(1.5)
    card = replace(default.card, name="mine", temperatures=Temperatures(3.0))
    ship_taught(default, trained, tmp_path / "mine", card)
    assert (tmp_path / "mine" / "delta.safetensors").stat().st_size < 100_000
    assert answers(tmp_path / "mine", 0.0) == answers("default", None)
    assert open_checkpoint(tmp_path / "mine").card.version.startswith(f"{default.card.version}+")
