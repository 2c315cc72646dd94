"""Which engine a checkpoint is opened with, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

import thisthat
from tests.train import tiny
from thisthat import opening
from thisthat.errors import InvalidInputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("opening") / "model")


def test_a_cpu_gets_onnx_and_a_gpu_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_has_nvidia_gpu", lambda: False)
    with thisthat.open(folder) as decider:
        assert "onnx" in decider.engine.description
        first = decider.ask("The colour is red.", "Is it red?").probabilities
    monkeypatch.setattr(opening, "_has_nvidia_gpu", lambda: True)
    with thisthat.open(folder, dtype="float32") as decider:
        assert "onnx" not in decider.engine.description
        again = decider.ask("The colour is red.", "Is it red?").probabilities
    assert again == pytest.approx(first, abs=1e-4)


def test_what_no_llama_graph_holds_goes_to_torch(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thisthat.engine.llama_shape.supports", lambda config: False)
    with thisthat.open(folder, device="cpu") as decider:
        assert "onnx" not in decider.engine.description


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"engine": "tensorrt"}, "none of auto, onnx, torch"),
        ({"engine": "torch", "form": "int8"}, "is for the onnx engine"),
        ({"lam": 1.5}, "lam"),
    ],
)
def test_wrong_settings_are_named(folder: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        thisthat.open(folder, **settings)  # type: ignore[arg-type]
