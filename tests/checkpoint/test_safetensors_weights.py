from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save, save_file

from tests.checkpoint.tiny import tiny_config, tiny_tokenizer, tiny_weights
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_file import SafetensorsFile, safetensors_bytes
from thisthat.checkpoint.safetensors_weights import SafetensorsModel, hub_folder, write_model
from thisthat.errors import CheckpointError, FetchError

NAME = "model.layers.0.mlp.up_proj.weight"


def _folder(tmp_path: Path, weights: Weights, **config: Any) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(tiny_config(**config)))
    (tmp_path / "tokenizer.json").write_text(tiny_tokenizer().to_str())
    save_file(weights, tmp_path / "model.safetensors")
    return tmp_path


def test_a_folder_written_is_read_again(tmp_path: Path) -> None:
    weights = tiny_weights()
    write_model(tmp_path, weights, tiny_config(), tiny_tokenizer(), "{{ messages }}")
    model = SafetensorsModel(tmp_path)
    assert model.config == tiny_config()
    assert model.chat_template == "{{ messages }}"
    assert model.tokenizer().encode("the 12").ids == tiny_tokenizer().encode("the 12").ids
    read = model.weights()
    assert set(read) == set(weights)
    assert all(np.array_equal(read[name], weights[name]) for name in weights)


def test_the_same_tensors_are_the_same_bytes(tmp_path: Path) -> None:
    tensors = {"b": np.arange(3, dtype=np.float32), "a": np.ones((2, 2), np.float16)}
    about = {f"key {number}": "Größe" for number in range(8)}
    first = safetensors_bytes(tensors, about)
    backwards = dict(reversed(about.items()))
    assert {safetensors_bytes(tensors, backwards) for _ in range(8)} == {first}
    (tmp_path / "file").write_bytes(first)
    opened = SafetensorsFile(tmp_path / "file")
    assert opened.metadata == about
    for name, tensor in load(first).items():
        assert np.array_equal(tensor, tensors[name])
        assert np.array_equal(opened.stored(name), tensors[name])


def test_a_written_folder_opens_in_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    weights = tiny_weights()
    write_model(tmp_path, weights, tiny_config(), tiny_tokenizer())
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    assert all(np.array_equal(theirs[name].numpy(), weights[name]) for name in weights)


@pytest.mark.parametrize("kind", ["F64", "F16", "BF16"])
def test_floating_types_become_float32(kind: str, tmp_path: Path) -> None:
    values = np.array([[0.5, -1.25, 3.0, 2.0**-14]], np.float32)
    stored = {
        "F64": values.astype(np.float64).tobytes(),
        "F16": values.astype(np.float16).tobytes(),
        "BF16": (values.view(np.uint32) >> 16).astype(np.uint16).tobytes(),
    }[kind]
    header = json.dumps(
        {"x": {"dtype": kind, "shape": [1, 4], "data_offsets": [0, len(stored)]}}
    ).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + stored)
    read = SafetensorsFile(path).float32("x")
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, values)


def test_shards_are_joined_and_missing_ones_named(tmp_path: Path) -> None:
    weights = tiny_weights()
    folder = _folder(tmp_path, weights)
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, some in parts.items():
        save_file({name: weights[name] for name in some}, folder / file)
    owner = {name: file for file, some in parts.items() for name in some}
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": owner}))
    model = SafetensorsModel(folder)
    assert all(np.array_equal(model.weights()[name], weights[name]) for name in weights)
    before = model.sha256()
    save_file(
        {name: weights[name] + 1 for name in parts["b.safetensors"]}, folder / "b.safetensors"
    )
    assert SafetensorsModel(folder).sha256() != before
    save_file({name: weights[name] for name in names[3::2]}, folder / "b.safetensors")
    with pytest.raises(CheckpointError, match=f"tensor {names[1]} is missing"):
        SafetensorsModel(folder).weights()
    (folder / "b.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"b\.safetensors is missing \(listed in"):
        SafetensorsModel(folder)
    index.write_text(json.dumps({"weight_map": {"x": "../outside.safetensors"}}))
    with pytest.raises(CheckpointError, match=r"outside\.safetensors is missing"):
        SafetensorsModel(folder)


@pytest.mark.parametrize("file", ["pytorch_model.bin", "model.pt", "weights.pkl"])
def test_pickles_are_refused_by_name(file: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path, tiny_weights())
    (folder / "model.safetensors").unlink()
    (folder / file).write_bytes(b"\x80\x04.")
    with pytest.raises(CheckpointError, match=f"{file} is a pickle"):
        SafetensorsModel(folder)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"config\.json is missing"):
        SafetensorsModel(tmp_path)
    folder = _folder(tmp_path, tiny_weights())
    (folder / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is missing"):
        SafetensorsModel(folder).tokenizer()
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json: cannot be read"):
        SafetensorsModel(folder).tokenizer()
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"model\.safetensors is missing"):
        SafetensorsModel(folder)


def test_tensors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    weights = tiny_weights()
    short = {name: tensor for name, tensor in weights.items() if name != NAME}
    with pytest.raises(CheckpointError, match=f"tensor {NAME} is missing"):
        SafetensorsModel(_folder(tmp_path, short)).weights()
    wrong = {**weights, NAME: weights[NAME].T.copy()}
    with pytest.raises(
        CheckpointError,
        match=rf"tensor {NAME} has shape \(32, 64\), the configuration says \(64, 32\)",
    ):
        SafetensorsModel(_folder(tmp_path, wrong)).weights()
    extra = {**weights, "model.layers.7.mlp.up_proj.weight": weights[NAME]}
    with pytest.raises(CheckpointError, match=r"model\.layers\.7\..* is not part of the model"):
        SafetensorsModel(_folder(tmp_path, extra)).weights()
    whole = {**weights, NAME: np.ones((64, 32), np.int32)}
    with pytest.raises(CheckpointError, match=f"tensor {NAME} has type I32"):
        SafetensorsModel(_folder(tmp_path, whole)).weights()  # type: ignore[arg-type]


def test_an_embedding_of_another_architecture_is_checked(tmp_path: Path) -> None:
    weights = {"model.language_model.embed_tokens.weight": np.ones((7, 32), np.float32)}
    folder = _folder(tmp_path, weights, model_type="other")
    with pytest.raises(CheckpointError, match=r"embed_tokens\.weight has shape \(7, 32\)"):
        SafetensorsModel(folder).weights()


@pytest.mark.parametrize("name", ["../evil", "a/b", "a\x00b", "", "a b", "x..y"])
def test_unsafe_tensor_names_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    header = json.dumps({name: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(CheckpointError, match="is not allowed"):
        SafetensorsFile(path)


def test_a_tied_unembedding_is_left_out(tmp_path: Path) -> None:
    weights = tiny_weights()
    doubled = {**weights, "lm_head.weight": weights["model.embed_tokens.weight"]}
    assert "lm_head.weight" not in SafetensorsModel(_folder(tmp_path, doubled)).weights()
    untied = _folder(tmp_path, doubled, tie_word_embeddings=False)
    assert "lm_head.weight" in SafetensorsModel(untied).weights()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]},
            "its shape does not fit its bytes",
        ),
        ({"dtype": "F32", "shape": [-1], "data_offsets": [4, 0]}, "its shape does not fit"),
        ({"dtype": "F32", "shape": [9], "data_offsets": [0, 36]}, "is cut short: tensor x ends"),
        ({"dtype": "F4", "shape": [1], "data_offsets": [0, 4]}, "type F4 cannot be read"),
        ({"dtype": "F32", "shape": [1]}, "tensor x: damaged entry"),
    ],
)
def test_a_damaged_entry_is_named(entry: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    header = json.dumps({"x": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(CheckpointError, match=message):
        SafetensorsFile(path)


@pytest.mark.parametrize("keep", [0, 5, 40])
def test_a_header_cut_short_is_refused(keep: int, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(save(tiny_weights())[:keep])
    with pytest.raises(CheckpointError, match="cut short"):
        SafetensorsFile(path)


def test_a_hub_id_without_network_says_what_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(FetchError) as caught:
        hub_folder("nobody/nothing")
    assert "nobody/nothing: could not be fetched from the Hugging Face Hub" in str(caught.value)
    assert "and there is no such folder here" in str(caught.value)
    assert "hf download nobody/nothing --local-dir FOLDER" in str(caught.value)
    with pytest.raises(FetchError) as caught:
        hub_folder("nobody/nothing", "0123abc")
    assert "folder here" not in str(caught.value)


def test_a_configuration_without_sizes_is_refused(tmp_path: Path) -> None:
    folder = _folder(tmp_path, tiny_weights(), hidden_size=None)
    with pytest.raises(CheckpointError, match="does not say how large the model is"):
        SafetensorsModel(folder).weights()
