"""Which engine a checkpoint is opened with, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import thisthat
from tests.train import tiny
from thisthat import opening
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.card import CARD_FILE, write_card
from thisthat.engine import int8_probe, second_reading
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.prompt.format import Layout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("opening") / "model")


def test_a_cpu_gets_onnx_and_a_gpu_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_has_nvidia_gpu", lambda: False)
    with thisthat.open(folder) as decider:
        assert "onnx" in decider.engine.description
        weights = decider.conditions().weights
        assert weights == open_checkpoint(folder).weights_sha256
        first = decider.ask("The colour is red.", "Is it red?").probabilities
    monkeypatch.setattr(opening, "_has_nvidia_gpu", lambda: True)
    with thisthat.open(folder, dtype="float32") as decider:
        assert "onnx" not in decider.engine.description
        assert decider.conditions().weights == weights
        again = decider.ask("The colour is red.", "Is it red?").probabilities
    assert again == pytest.approx(first, abs=1e-4)


def test_what_no_llama_graph_holds_goes_to_torch(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.engine.llama_shape.supports", lambda config: False)
    with thisthat.open(folder, device="cpu") as decider:
        assert "onnx" not in decider.engine.description


@pytest.mark.parametrize(
    ("exact", "trained", "said", "close"),
    [
        (True, True, "int8, close calls read twice", second_reading.CLOSE),
        (True, False, "int8", None),
        (
            False,
            True,
            "int8 (seven-bit weights: no byte dot products here), close calls read twice",
            second_reading.CLOSE_IN_SEVEN,
        ),
        (False, False, "int8 (seven-bit terms: no byte dot products here)", None),
    ],
)
def test_an_int8_engine_says_what_the_processor_makes_of_it(
    exact: bool,
    trained: bool,
    said: str,
    close: float | None,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path))
    monkeypatch.setattr(int8_probe, "multiplies_exactly", lambda: exact)
    monkeypatch.setattr(Checkpoint, "has_byte_activations", trained)
    bounds: list[float] = []

    class Noted(second_reading.SecondReading):
        def __init__(self, fast: Any, open_finer: Any, close: float) -> None:
            super().__init__(fast, open_finer, close)
            bounds.append(close)

    monkeypatch.setattr(second_reading, "SecondReading", Noted)
    with thisthat.open(folder, engine="onnx", form="int8") as decider:
        assert decider.engine.description.endswith(f", {said}")
    assert bounds == ([] if close is None else [close])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "tensorrt"}, "none of auto, native, onnx, torch"),
        ({"engine": "torch", "form": "int8"}, "is for a CPU engine"),
        ({"engine": "native", "form": "float32"}, "the native engine knows int8 alone"),
        ({"engine": "native", "dtype": "float8"}, "native takes form"),
        ({"engine": "onnx", "dtype": "float8"}, "is for the torch engine"),
        ({"lam": 1.5}, "lam"),
    ],
)
def test_wrong_settings_are_named(folder: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        thisthat.open(folder, **settings)  # type: ignore[arg-type]


def with_open_states(folder: Path) -> Path:
    card = open_checkpoint(folder).card
    write_card(replace(card, prompt=replace(card.prompt, open_state=True)), folder / CARD_FILE)
    return folder


def test_open_states_are_read_alike_by_both_engines(folder: Path, tmp_path: Path) -> None:
    opened = with_open_states(tiny.write_checkpoint(tmp_path / "open"))
    state, asked = "The colour is red.", {"red": "Is it red?", "blue": "Is it blue?"}
    layouts: list[Layout] = ["state-first", "schema-first"]
    for layout in layouts:
        found = {}
        for name, ref, engine in (
            ("onnx", opened, "onnx"),
            ("torch", opened, "torch"),
            ("closed", folder, "onnx"),
        ):
            with thisthat.open(ref, engine=engine, device="cpu") as decider:  # type: ignore[arg-type]
                decision = decider.decide(state, asked, layout=layout)
            found[name] = [decision[key].probabilities["yes"] for key in asked]
        assert found["onnx"] == pytest.approx(found["torch"], abs=1e-4)
        assert found["onnx"] != pytest.approx(found["closed"], abs=1e-3)


def test_a_model_that_cannot_open_states_is_refused_by_name(tmp_path: Path) -> None:
    windowed = tiny.write_checkpoint(tmp_path / "w", model_type="mistral", sliding_window=7)
    with pytest.raises(CheckpointError, match=r"prompt\.open_state .* mistral model cannot"):
        thisthat.open(with_open_states(windowed), engine="torch", device="cpu")
