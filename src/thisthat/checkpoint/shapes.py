"""Which tensors a configuration promises, and whether a model has exactly those.

Complete for dense llama-type decoders; for other architectures only the embedding is checked here,
and the engine for the architecture checks the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from thisthat.errors import CheckpointError

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
_DENSE = {"llama", "mistral", "qwen2"}
_EMBEDDING = "embed_tokens.weight"


def check_shapes(
    found: Mapping[str, tuple[int, ...]], config: Mapping[str, Any], where: str
) -> None:
    """Raises CheckpointError naming the first unsafe, missing, misshapen or unknown tensor."""
    for name in found:
        check_name(name, where)
    try:
        expected = expected_shapes(config)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise CheckpointError(
            f"{where}: the configuration does not say how large the model is ({error!r})"
        ) from error
    for name, shape in expected.items():
        if name not in found:
            raise CheckpointError(f"{where}: tensor {name} is missing")
        if tuple(found[name]) != shape:
            raise CheckpointError(
                f"{where}: tensor {name} has shape {tuple(found[name])}, "
                f"the configuration says {shape}"
            )
    if config.get("model_type") in _DENSE:
        unknown = sorted(set(found) - set(expected))
        if unknown:
            raise CheckpointError(f"{where}: tensor {unknown[0]} is not part of the model")
    else:
        _check_embedding(found, config, where)


def _check_embedding(
    found: Mapping[str, tuple[int, ...]], config: Mapping[str, Any], where: str
) -> None:
    inner = config.get("text_config")
    sizes = {**config, **(inner if isinstance(inner, dict) else {})}
    expected = (sizes.get("vocab_size"), sizes.get("hidden_size"))
    for name, shape in found.items():
        if name.endswith(_EMBEDDING) and None not in expected and tuple(shape) != expected:
            raise CheckpointError(
                f"{where}: tensor {name} has shape {tuple(shape)}, "
                f"the configuration says {expected}"
            )


def check_name(name: str, where: str) -> None:
    """Raises CheckpointError for a tensor name that could be a path or hide characters."""
    if not _SAFE_NAME.fullmatch(name) or ".." in name:
        raise CheckpointError(f"{where}: tensor name {name!r} is not allowed")


def expected_shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The tensors a dense llama-type decoder must have; none for other architectures."""
    if config.get("model_type") not in _DENSE:
        return {}
    hidden, inner = int(config["hidden_size"]), int(config["intermediate_size"])
    heads = int(config["num_attention_heads"])
    head = int(config.get("head_dim") or hidden // heads)
    queries = heads * head
    keys = int(config.get("num_key_value_heads") or heads) * head
    vocabulary = int(config["vocab_size"])
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (vocabulary, hidden)}
    for layer in range(int(config["num_hidden_layers"])):
        parts = {
            "input_layernorm.weight": (hidden,),
            "self_attn.q_proj.weight": (queries, hidden),
            "self_attn.k_proj.weight": (keys, hidden),
            "self_attn.v_proj.weight": (keys, hidden),
            "self_attn.o_proj.weight": (hidden, queries),
            "post_attention_layernorm.weight": (hidden,),
            "mlp.gate_proj.weight": (inner, hidden),
            "mlp.up_proj.weight": (inner, hidden),
            "mlp.down_proj.weight": (hidden, inner),
        }
        if config.get("attention_bias") or config["model_type"] == "qwen2":
            parts |= {
                "self_attn.q_proj.bias": (queries,),
                "self_attn.k_proj.bias": (keys,),
                "self_attn.v_proj.bias": (keys,),
            }
        if config.get("attention_bias"):
            parts["self_attn.o_proj.bias"] = (hidden,)
        if config.get("mlp_bias"):
            parts |= {
                "mlp.gate_proj.bias": (inner,),
                "mlp.up_proj.bias": (inner,),
                "mlp.down_proj.bias": (hidden,),
            }
        shapes |= {f"model.layers.{layer}.{part}": shape for part, shape in parts.items()}
    shapes["model.norm.weight"] = (hidden,)
    if not config.get("tie_word_embeddings", False):
        shapes["lm_head.weight"] = (vocabulary, hidden)
    return shapes
