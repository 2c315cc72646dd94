"""A causal language model in a Hugging Face folder: config.json, tokenizer.json, *.safetensors.

Never reads pickles: a folder with nothing else is refused. Also writes such folders and fetches
them from the Hub.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from tokenizers import Tokenizer

from thisthat.checkpoint.fields import read_json_object
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.safetensors_file import SafetensorsFile
from thisthat.checkpoint.shapes import check_shapes
from thisthat.checkpoint.store import sha256_of
from thisthat.errors import CheckpointError, FetchError
from thisthat.files import write_atomically

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.pkl", "*.ckpt")
_HUB_FILES = ("*.json", "*.safetensors", "*.jinja")
_EMBEDDING, _UNEMBEDDING = "model.embed_tokens.weight", "lm_head.weight"


class SafetensorsModel:
    """A model folder. Opening checks that the files exist; tensors are read on demand.

    Raises CheckpointError naming the file or tensor that is missing, misshapen or not allowed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not (folder / "config.json").is_file():
            raise CheckpointError(f"{folder}: config.json is missing")
        self._files = _tensor_files(folder)

    @property
    def folder(self) -> Path:
        """The model folder."""
        return self._folder

    @property
    def files(self) -> Sequence[Path]:
        """The tensor files."""
        return self._files

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of ``config.json``."""
        return read_json_object(self._folder / "config.json")

    @cached_property
    def chat_template(self) -> str | None:
        """The Jinja template of the model's conversations, if it has one."""
        alone = self._folder / "chat_template.jinja"
        if alone.is_file():
            return alone.read_text(encoding="utf-8")
        template = self._tokenizer_settings.get("chat_template")
        if isinstance(template, list):  # Several by name, for tools and the like.
            named = {each.get("name"): each.get("template") for each in template}
            template = named.get("default")
        return template if isinstance(template, str) else None

    @cached_property
    def special_tokens(self) -> dict[str, str]:
        """The texts under keys such as ``bos_token`` in the tokenizer's settings."""
        texts = {
            key: value.get("content") if isinstance(value, dict) else value
            for key, value in self._tokenizer_settings.items()
            if key.endswith("_token")
        }
        return {key: text for key, text in texts.items() if isinstance(text, str)}

    @cached_property
    def _tokenizer_settings(self) -> dict[str, Any]:
        path = self._folder / "tokenizer_config.json"
        return read_json_object(path) if path.is_file() else {}

    def tokenizer(self) -> Tokenizer:
        """The tokenizer in ``tokenizer.json``."""
        path = self._folder / "tokenizer.json"
        if not path.is_file():
            raise CheckpointError(f"{self._folder}: tokenizer.json is missing")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises bare Exception for a broken file.
            raise CheckpointError(f"{path}: cannot be read ({error})") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def sha256(self) -> str:
        """The hash of the only tensor file, or of the list of all tensor files' hashes."""
        hashes = [sha256_of(path) for path in self._files]
        if len(hashes) == 1:
            return hashes[0]
        listed = "".join(
            f"{digest}  {path.name}\n" for digest, path in zip(hashes, self._files, strict=True)
        )
        return hashlib.sha256(listed.encode()).hexdigest()

    def weights(self) -> Weights:
        """All tensors in float32; an unembedding that is tied to the embedding is left out."""
        files = [SafetensorsFile(path) for path in self._files]
        owner = {name: file for file in files for name in file.shapes()}
        self._check_index(owner)
        shapes = {name: shape for file in files for name, shape in file.shapes().items()}
        tied = bool(self.config.get("tie_word_embeddings", False))
        if tied and _EMBEDDING in shapes:
            shapes.pop(_UNEMBEDDING, None)
        check_shapes(shapes, self.config, str(self._folder))
        return {name: owner[name].float32(name) for name in shapes}

    def _check_index(self, owner: Mapping[str, SafetensorsFile]) -> None:
        index = self._folder / _INDEX
        if not index.is_file():
            return
        for name, file in _weight_map(index).items():
            if name not in owner or owner[name].path.name != file:
                raise CheckpointError(f"{self._folder / str(file)}: tensor {name} is missing")


def hub_folder(repository: str, revision: str | None = None) -> Path:
    """A snapshot of a Hub repository (configuration, tokenizer and safetensors only).

    Raises FetchError when it is neither reachable nor in the Hub's cache.
    """
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(repository, revision=revision, allow_patterns=list(_HUB_FILES))
    except Exception as error:  # The Hub client's errors share no root with one another.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        local = "" if revision else ", and there is no such folder here"
        raise FetchError(
            f"{repository}: could not be fetched from the Hugging Face Hub ({reason}){local}. On a "
            f"machine with network run: hf download {repository} --local-dir FOLDER ; "
            "then open FOLDER"
        ) from error
    return Path(folder)


def write_model(
    folder: Path,
    weights: Weights,
    config: Mapping[str, Any],
    tokenizer: Tokenizer,
    chat_template: str | None = None,
) -> None:
    """Write a model folder that this package and transformers can open; tensors are written last.

    Raises CheckpointError when the tensors do not fit the configuration, OSError when writing
    fails; an existing tensor file survives.
    """
    from safetensors.numpy import save

    check_shapes({name: tensor.shape for name, tensor in weights.items()}, config, str(folder))
    write_atomically(folder / "config.json", json.dumps(dict(config), indent=2) + "\n")
    write_atomically(folder / "tokenizer.json", tokenizer.to_str())
    if chat_template is not None:
        write_atomically(folder / "chat_template.jinja", chat_template)

    def tensors(file: BinaryIO) -> None:
        file.write(save(weights, metadata={"format": "pt"}))

    write_atomically(folder / _SINGLE, tensors)


def _weight_map(index: Path) -> dict[str, Any]:
    named = read_json_object(index).get("weight_map")
    if not isinstance(named, dict):
        raise CheckpointError(f"{index}: weight_map is missing")
    return named


def _tensor_files(folder: Path) -> list[Path]:
    index = folder / _INDEX
    if index.is_file():
        files = []
        for name in sorted({str(file) for file in _weight_map(index).values()}):
            if Path(name).name != name or not (folder / name).is_file():
                raise CheckpointError(f"{folder}: {name} is missing (listed in {_INDEX})")
            files.append(folder / name)
        return files
    if (folder / _SINGLE).is_file():
        return [folder / _SINGLE]
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if pickles:
        raise CheckpointError(
            f"{folder}: {pickles[0]} is a pickle, which can run code when read; only safetensors "
            "and GGUF files are opened. Convert the model to safetensors first"
        )
    raise CheckpointError(f"{folder}: {_SINGLE} is missing")
