"""Models small enough to make in a test: a two-layer llama as GGUF file, model folder or wheel."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tokenizers import Tokenizer, pre_tokenizers

from thisthat.checkpoint.card import WheelBase, WheelPart
from thisthat.checkpoint.gguf_weights import build_tokenizer
from thisthat.checkpoint.model import Weights
from thisthat.checkpoint.shapes import expected_shapes
from thisthat.checkpoint.store import hash_file

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
LETTERS = tuple(sorted(pre_tokenizers.ByteLevel.alphabet()))
MERGES = ("Ġ t", "h e", "Ġt he", "Ġ Ġ")
TOKENS = (*SPECIAL, *LETTERS, "Ġt", "he", "Ġthe", "ĠĠ")
MEMBER = "tiny_model/tiny.gguf"


def tokenizer_settings(split: str = "smollm") -> dict[str, Any]:
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": split,
        "tokenizer.ggml.tokens": list(TOKENS),
        "tokenizer.ggml.token_type": [3] * len(SPECIAL) + [1] * (len(TOKENS) - len(SPECIAL)),
        "tokenizer.ggml.merges": list(MERGES),
    }


def tiny_tokenizer() -> Tokenizer:
    return build_tokenizer(tokenizer_settings(), "tiny")


def tiny_config(**changes: Any) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": len(TOKENS),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        **changes,
    }


def tiny_weights(seed: int = 0, **changes: Any) -> Weights:
    random = np.random.default_rng(seed)
    return {
        name: random.standard_normal(shape, dtype=np.float32)
        for name, shape in expected_shapes(tiny_config(**changes)).items()
    }


_GGUF_NAMES = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "input_layernorm.weight": "attn_norm.weight",
    "self_attn.q_proj.weight": "attn_q.weight",
    "self_attn.k_proj.weight": "attn_k.weight",
    "self_attn.v_proj.weight": "attn_v.weight",
    "self_attn.q_proj.bias": "attn_q.bias",
    "self_attn.k_proj.bias": "attn_k.bias",
    "self_attn.v_proj.bias": "attn_v.bias",
    "self_attn.o_proj.weight": "attn_output.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
}


def gguf_name(name: str) -> str:
    if name in _GGUF_NAMES:
        return _GGUF_NAMES[name]
    layer, part = name.removeprefix("model.layers.").split(".", 1)
    return f"blk.{layer}.{_GGUF_NAMES[part]}"


def rotary_pairs(tensor: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """The row order of queries and keys in GGUF files: two rotary halves become pairs."""
    half = tensor.shape[0] // heads // 2
    return tensor.reshape(heads, 2, half, -1).swapaxes(1, 2).reshape(tensor.shape)


def write_tiny_gguf(
    path: Path,
    weights: Weights,
    *,
    architecture: str = "llama",
    storage: gguf.GGMLQuantizationType | None = None,
) -> None:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(256)
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(16)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    settings = tokenizer_settings("qwen2" if architecture == "qwen2" else "smollm")
    writer.add_tokenizer_model(settings["tokenizer.ggml.model"])
    writer.add_tokenizer_pre(settings["tokenizer.ggml.pre"])
    writer.add_token_list(settings["tokenizer.ggml.tokens"])
    writer.add_token_types(settings["tokenizer.ggml.token_type"])
    writer.add_token_merges(settings["tokenizer.ggml.merges"])
    writer.add_chat_template("{{ messages }}")
    for name, tensor in weights.items():
        stored = tensor
        if architecture == "llama" and ("q_proj" in name or "k_proj" in name):
            stored = rotary_pairs(tensor, 2 if "q_proj" in name else 1)
        if storage is not None and tensor.ndim == 2:
            writer.add_tensor(
                gguf_name(name), gguf.quants.quantize(stored, storage), raw_dtype=storage
            )
        else:
            writer.add_tensor(gguf_name(name), np.ascontiguousarray(stored))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_wheel(folder: Path) -> tuple[Path, WheelBase]:
    """A wheel with a tiny GGUF file in it, and the base that describes it."""
    file = folder / "tiny.gguf"
    write_tiny_gguf(file, tiny_weights())
    digest = hash_file(file)
    wheel = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MEMBER, file.read_bytes())
    file.unlink()
    part = WheelPart("tiny-model", "1.0", MEMBER, wheel.stat().st_size)
    return wheel, WheelBase((part,), "tiny.gguf", digest)


def write_wheels(folder: Path, pieces: Sequence[bytes]) -> WheelBase:
    """One wheel for each piece of a file, as pip makes and installs them, and their base."""
    parts = []
    for number, piece in enumerate(pieces, 1):
        package, member = f"tiny-part{number}", f"tiny_part{number}/{number:02}.bin"
        stem = f"{package.replace('-', '_')}-1.0"
        wheel = folder / f"{stem}-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, piece)
            metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
            archive.writestr(f"{stem}.dist-info/METADATA", metadata)
            archive.writestr(
                f"{stem}.dist-info/WHEEL",
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            archive.writestr(f"{stem}.dist-info/RECORD", "")
        parts.append(WheelPart(package, "1.0", member, wheel.stat().st_size))
    return WheelBase(tuple(parts), "joined.gguf", hashlib.sha256(b"".join(pieces)).hexdigest())
