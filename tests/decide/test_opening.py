"""Which engine a checkpoint is opened with, and what is refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import thisthat
from tests.lab.train import tiny
from thisthat.checkpoint import Checkpoint, open_checkpoint
from thisthat.checkpoint.card import CARD_FILE, write_card
from thisthat.engine import second_reading, select
from thisthat.engine.native import compiler
from thisthat.engine.native import engine as native_engine
from thisthat.engine.native.compiler import CannotCompileError, library_here
from thisthat.engine.native.library import Library, Variant
from thisthat.engine.onnx import int8_probe
from thisthat.engine.row_reader import KeptTokens
from thisthat.errors import CheckpointError, InvalidInputError
from thisthat.prompt_format import Layout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("opening") / "model")


def test_a_cpu_gets_onnx_and_a_gpu_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "has_nvidia_gpu", lambda: False)
    with thisthat.open(folder) as decider:
        assert "onnx" in decider.engine.description
        weights = decider.conditions().weights
        assert weights == open_checkpoint(folder).weights_sha256
        first = decider.ask("The colour is red.", "Is it red?").probabilities
    monkeypatch.setattr(select, "has_nvidia_gpu", lambda: True)
    with thisthat.open(folder, dtype="float32") as decider:
        assert "onnx" not in decider.engine.description
        assert decider.conditions().weights == weights
        again = decider.ask("The colour is red.", "Is it red?").probabilities
    assert again == pytest.approx(first, abs=1e-4)


def native_checkpoint(folder: Path) -> Checkpoint:
    """One that suits the kernels, with weights of whole steps and activations trained to round."""
    sizes = {"hidden_size": 128, "intermediate_size": 192, "head_dim": 64}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    tiny.write_checkpoint(folder, **sizes, **heads)
    return open_checkpoint(folder)


@pytest.mark.parametrize(
    ("variant", "trained", "form", "said"),
    [
        ("amx", True, None, "native kernels (amx), cpu, 1 thread, int8"),
        ("vnni", True, None, "native kernels (vnni), cpu, 1 thread, int8, close calls read twice"),
        ("vnni", False, None, "native kernels (vnni), cpu, 1 thread, int8"),
        ("vnni", True, "float32", "onnxruntime"),
        ("plain", True, None, "onnxruntime"),
        (None, True, None, "onnxruntime"),
    ],
)
def test_a_processor_that_multiplies_bytes_gets_kernels_of_our_own(
    variant: Variant | None,
    trained: bool,
    form: str | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def library() -> Library:
        if variant is None:
            raise CannotCompileError("there is no C compiler")
        return Library(Path("nowhere"), variant)

    class Still:
        """Stands in for kernels that this processor may not have."""

        nothing = KeptTokens((), 0, 0)
        trees_apart = True

        def __init__(self, library: Library, *_: object, terms: int, threads: int) -> None:
            self.terms = terms
            self.description = f"native kernels ({library.variant}), cpu, {threads} thread, int8"

        def close(self) -> None: ...

    monkeypatch.setattr(select, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(native_engine, "variants_here", lambda: [variant or "vnni"])
    monkeypatch.setattr(native_engine, "library_here", library)
    monkeypatch.setattr(native_engine, "NativeRuntime", Still)
    monkeypatch.setattr(Checkpoint, "has_byte_weights", True)
    monkeypatch.setattr(Checkpoint, "has_byte_activations", trained)
    native_checkpoint(tmp_path / "model")
    with thisthat.open(tmp_path / "model", form=form, threads=1) as decider:
        assert decider.engine.description.startswith(said)
        assert ("twice" in decider.engine.description) == ("twice" in said) or said == "onnxruntime"


@pytest.mark.parametrize(
    ("here", "made", "reason"),
    [
        (["plain"], "plain", "this processor has no dot products of bytes that its kernels know"),
        (["vnni", "plain"], "plain", "its kernels that multiply bytes could not be compiled, or"),
        (["vnni", "plain"], None, "there is no C compiler"),
        (["vnni", "plain"], "vnni", None),
    ],
)
def test_why_native_is_not_the_faster_engine(
    here: list[Variant],
    made: Variant | None,
    reason: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def library() -> Library:
        if made is None:
            raise CannotCompileError("there is no C compiler")
        return Library(Path("nowhere"), made)

    monkeypatch.setattr(native_engine, "variants_here", lambda: here)
    monkeypatch.setattr(native_engine, "library_here", library)
    native_checkpoint(tmp_path / "model")
    found = native_engine.why_not_faster(open_checkpoint(tmp_path / "model"))
    assert (found is None) == (reason is None)
    assert (found or "").startswith(reason or "")


@pytest.mark.parametrize(
    ("here", "reason"),
    [
        (["avx2", "plain"], None),
        (["plain"], "this processor has no dot products of bytes that its kernels know"),
    ],
)
def test_with_avx2_alone_native_is_timed_where_it_opens(
    here: list[Variant], reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_engine, "variants_here", lambda: here)
    monkeypatch.setattr(compiler, "variants_here", lambda: here)
    monkeypatch.setattr(native_engine, "library_here", lambda: Library(Path("nowhere"), "avx2"))
    native_checkpoint(tmp_path / "model")
    checkpoint = open_checkpoint(tmp_path / "model")
    assert select.why_not_timed(checkpoint) == reason

    def fails() -> Library:
        raise CannotCompileError("there is no C compiler")

    monkeypatch.setattr(native_engine, "library_here", fails)
    assert select.why_not_timed(checkpoint) == (reason or "there is no C compiler")


def test_native_can_be_asked_for_and_says_when_it_cannot_be(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CheckpointError, match="cannot run on native kernels: hidden_size is"):
        thisthat.open(folder, engine="native")
    native_checkpoint(tmp_path / "model")
    monkeypatch.setenv("THISTHAT_NATIVE", "0")
    with pytest.raises(CheckpointError, match="THISTHAT_NATIVE is 0"):
        thisthat.open(tmp_path / "model", engine="native")
    monkeypatch.delenv("THISTHAT_NATIVE")
    try:
        library_here()
    except CannotCompileError as error:
        pytest.skip(str(error))
    given = ("The colour is red.", "Is it red?")
    with (
        thisthat.open(tmp_path / "model", engine="native") as ours,
        thisthat.open(tmp_path / "model", engine="onnx", form="float32") as theirs,
    ):
        assert "native kernels" in ours.engine.description
        wanted = theirs.ask(*given).probabilities
        assert ours.ask(*given).probabilities == pytest.approx(wanted, abs=0.05)


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
