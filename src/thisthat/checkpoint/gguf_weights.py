"""Models in GGUF files: tensors, configuration and tokenizer with Hugging Face names.

Reads the llama and qwen2 architectures.

Needs neither torch nor transformers; dequantised numbers equal theirs bit for bit. Caches nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
)

from thisthat.checkpoint.gguf_header import Header, TensorPlace, read_header
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.shapes import check_shapes
from thisthat.checkpoint.store import sha256_of
from thisthat.errors import CheckpointError

_NORMAL, _CONTROL = 1, 3
_OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_NAMES = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}
_LAYER = re.compile(r"blk\.(\d+)\.(.+)")
_CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}
_QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where texts of Qwen's are cut before byte pairs are joined, as its tokenizer's file has it."""


class GgufModel:
    """A GGUF file of the llama or qwen2 architecture. Opening reads only the header.

    Raises CheckpointError for another architecture, a damaged file, a missing or misshapen tensor.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._header: Header = read_header(path)
        architecture = self._header.settings.get("general.architecture")
        if architecture not in _CLASSES:
            known = " and ".join(_CLASSES)
            raise CheckpointError(
                f"{path}: architecture {architecture!r} is not read from GGUF files ({known} are); "
                "open the model from its safetensors instead"
            )
        self._architecture = str(architecture)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return self._path.parent

    @property
    def files(self) -> Sequence[Path]:
        """The file, alone."""
        return (self._path,)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration with the keys of a Hugging Face ``config.json``."""
        heads = self._size("attention.head_count")
        hidden = self._size("embedding_length")
        theta = self._number("rope.freq_base", 10000.0)
        table: dict[str, Any] = {
            "architectures": [_CLASSES[self._architecture]],
            "model_type": self._architecture,
            "dtype": "float32",
            "vocab_size": len(self._tokens()),
            "hidden_size": hidden,
            "intermediate_size": self._size("feed_forward_length"),
            "num_hidden_layers": self._size("block_count"),
            "num_attention_heads": heads,
            "num_key_value_heads": self._size("attention.head_count_kv", heads),
            "head_dim": self._size("rope.dimension_count", hidden // heads),
            "hidden_act": "silu",
            "max_position_embeddings": self._size("context_length"),
            "rms_norm_eps": self._number("attention.layer_norm_rms_epsilon"),
            "rope_theta": theta,
            "rope_parameters": {"rope_type": "default", "rope_theta": theta},
            "tie_word_embeddings": not any(t.name == "output.weight" for t in self._header.tensors),
            "bos_token_id": self._header.settings.get("tokenizer.ggml.bos_token_id"),
            "eos_token_id": self._header.settings.get("tokenizer.ggml.eos_token_id"),
            "pad_token_id": self._header.settings.get("tokenizer.ggml.padding_token_id"),
        }
        if self._architecture == "llama":
            table |= {"attention_bias": False, "mlp_bias": False}
        return table

    @property
    def chat_template(self) -> str | None:
        """The Jinja template of the model's conversations, if it has one."""
        template = self._header.settings.get("tokenizer.chat_template")
        return template if isinstance(template, str) else None

    @property
    def special_tokens(self) -> dict[str, str]:
        """The texts of the tokens that begin and end a text."""
        tokens = self._tokens()
        ids = {key: self.config.get(f"{key}_id") for key in ("bos_token", "eos_token")}
        return {key: tokens[at] for key, at in ids.items() if at is not None and at < len(tokens)}

    def tokenizer(self) -> Tokenizer:
        """The tokenizer the file describes."""
        return build_tokenizer(self._header.settings, str(self._path))

    def sha256(self) -> str:
        """The file's hash."""
        return sha256_of(self._path)

    def weights(self) -> Weights:
        """All tensors in float32 under their Hugging Face names."""
        content = np.memmap(self._path, dtype=np.uint8, mode="r")
        weights = {
            self._hugging_face_name(place.name): self._tensor(place, content)
            for place in self._header.tensors
        }
        check_shapes(
            {name: tensor.shape for name, tensor in weights.items()}, self.config, str(self._path)
        )
        return weights

    def _tensor(self, place: TensorPlace, content: NDArray[np.uint8]) -> NDArray[np.float32]:
        import gguf

        try:
            storage = gguf.GGMLQuantizationType(place.storage)
        except ValueError as error:
            raise CheckpointError(
                f"{self._path}: tensor {place.name}: storage type {place.storage} is not known"
            ) from error
        block, block_bytes = gguf.GGML_QUANT_SIZES[storage]
        if not place.shape or place.shape[-1] % block:
            raise CheckpointError(
                f"{self._path}: tensor {place.name}: shape {place.shape} does not fit "
                f"{storage.name}"
            )
        length = math.prod(place.shape) // block * block_bytes
        if place.start + length > self._header.size:
            raise CheckpointError(
                f"{self._path}: is cut short: tensor {place.name} ends at byte "
                f"{place.start + length}, the file at {self._header.size}"
            )
        rows = content[place.start : place.start + length].reshape(*place.shape[:-1], -1)
        try:
            values = gguf.quants.dequantize(np.asarray(rows), storage)
        except NotImplementedError as error:
            raise CheckpointError(
                f"{self._path}: tensor {place.name}: {storage.name} cannot be read"
            ) from error
        values = np.array(values, dtype=np.float32).reshape(place.shape)
        if self._architecture == "llama":  # Only its converter orders rotary pairs anew.
            if place.name.endswith("attn_q.weight"):
                values = _rotary_halves(values, self.config["num_attention_heads"])
            elif place.name.endswith("attn_k.weight"):
                values = _rotary_halves(values, self.config["num_key_value_heads"])
        return np.ascontiguousarray(values)

    def _hugging_face_name(self, name: str) -> str:
        if name in _OUTER_NAMES:
            return _OUTER_NAMES[name]
        match = _LAYER.fullmatch(name)
        if match is None or match[2] not in _LAYER_NAMES:
            raise CheckpointError(
                f"{self._path}: tensor {name!r} is not part of a {self._architecture} model"
            )
        return f"model.layers.{match[1]}.{_LAYER_NAMES[match[2]]}"

    def _size(self, key: str, default: int | None = None) -> int:
        key = f"{self._architecture}.{key}"
        value = self._header.settings.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise CheckpointError(f"{self._path}: setting {key} is {value!r}, not a size")
        return value

    def _number(self, key: str, default: float | None = None) -> float:
        key = f"{self._architecture}.{key}"
        value = self._header.settings.get(key, default)
        if not isinstance(value, float) or not math.isfinite(value):
            raise CheckpointError(f"{self._path}: setting {key} is {value!r}, not a number")
        return value

    def _tokens(self) -> list[str]:
        tokens = self._header.settings.get("tokenizer.ggml.tokens")
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            raise CheckpointError(f"{self._path}: setting tokenizer.ggml.tokens is missing")
        return tokens


def build_tokenizer(settings: Mapping[str, Any], where: str) -> Tokenizer:
    """The byte-level BPE tokenizer in GGUF settings; adds no special tokens of its own.

    The pre-tokenizer named ``smollm`` gives each digit a token of its own before the byte-level
    split, as the model was trained. (The conversion in transformers leaves that step out, so that
    it differs where several blanks stand before a digit, or one before a numeral like ½.) The one
    named ``qwen2`` cuts the text, brought to Unicode's composed form, where Qwen's own does.
    """
    model, split = settings.get("tokenizer.ggml.model"), settings.get("tokenizer.ggml.pre")
    if model != "gpt2" or split not in _SPLITS:
        raise CheckpointError(
            f"{where}: tokenizer {model!r} with pre-tokenizer {split!r} is not read from GGUF "
            f"files (gpt2 with {', '.join(_SPLITS)} is)"
        )
    try:
        return _byte_level_tokenizer(settings, _SPLITS[split])
    except Exception as error:  # tokenizers raises bare Exception for a vocabulary it cannot use.
        raise CheckpointError(f"{where}: the vocabulary is damaged ({error})") from error


def _byte_level(use_regex: bool) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


_SPLITS: dict[str, Callable[[], Sequence[pre_tokenizers.PreTokenizer]]] = {
    "smollm": lambda: (pre_tokenizers.Digits(individual_digits=True), _byte_level(True)),
    "gpt-2": lambda: (_byte_level(True),),
    "qwen2": lambda: (pre_tokenizers.Split(Regex(_QWEN_SPLIT), "isolated"), _byte_level(False)),
}


def _byte_level_tokenizer(
    settings: Mapping[str, Any], split: Callable[[], Sequence[pre_tokenizers.PreTokenizer]]
) -> Tokenizer:
    tokens: list[str] = settings["tokenizer.ggml.tokens"]
    kinds: list[int] = settings.get("tokenizer.ggml.token_type", [_NORMAL] * len(tokens))
    merges = [tuple(merge.split(" ")) for merge in settings["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(
        models.BPE(vocab={token: number for number, token in enumerate(tokens)}, merges=merges)
    )
    if settings["tokenizer.ggml.pre"] == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    steps = list(split())
    tokenizer.pre_tokenizer = steps[0] if len(steps) == 1 else pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [
            AddedToken(token, special=True, normalized=False)
            for token, kind in zip(tokens, kinds, strict=True)
            if kind == _CONTROL
        ]
    )
    return tokenizer


def _rotary_halves(tensor: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Undoes GGUF's order of query and key rows: rotary pairs side by side become two halves."""
    half = tensor.shape[0] // heads // 2
    paired = tensor.reshape(heads, half, 2, *tensor.shape[1:])
    return paired.swapaxes(1, 2).reshape(tensor.shape)
