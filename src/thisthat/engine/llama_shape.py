"""The sizes of a llama-architecture model, read from its configuration, and what is not one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thisthat.errors import CheckpointError

if TYPE_CHECKING:
    from thisthat.checkpoint.card import Loop

_PLAIN = {"model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False}
_SIZES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings")
_NEEDED = (*_SIZES, "vocab_size", "rms_norm_eps")


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """Sizes, and ``order``: the layer whose weights each step uses. Each step has its own K/V."""

    order: tuple[int, ...]
    width: int
    heads: int
    shared_heads: int
    head_width: int
    epsilon: float
    rope_base: float
    longest: int
    vocabulary: int
    tied: bool


def supports(config: Mapping[str, Any]) -> bool:
    """Whether a model with this configuration can be built as a llama graph."""
    return not _obstacles(config)


def read_shape(config: Mapping[str, Any], loop: Loop | None = None) -> LlamaShape:
    """The shape of the model; raises CheckpointError naming what in it is not supported."""
    obstacles = _obstacles(config)
    if obstacles:
        raise CheckpointError(
            f"the onnx engine runs plain llama models, but this one has {', '.join(obstacles)}"
        )
    layers = int(config["num_hidden_layers"])
    heads = int(config["num_attention_heads"])
    width = int(config["hidden_size"])
    return LlamaShape(
        order=_order(layers, loop),
        width=width,
        heads=heads,
        shared_heads=int(config.get("num_key_value_heads") or heads),
        head_width=int(config.get("head_dim") or width // heads),
        epsilon=float(config["rms_norm_eps"]),
        rope_base=_rope_base(config),
        longest=int(config["max_position_embeddings"]),
        vocabulary=int(config["vocab_size"]),
        tied=bool(config.get("tie_word_embeddings", False)),
    )


def _obstacles(config: Mapping[str, Any]) -> list[str]:
    found = [
        f"{key} {config.get(key)!r}"
        for key, value in _PLAIN.items()
        if config.get(key, value) != value or (key == "model_type" and key not in config)
    ]
    for key in ("rope_parameters", "rope_scaling"):
        settings = config.get(key) or {}
        kind = settings.get("rope_type", settings.get("type", "default"))
        if kind != "default":
            found.append(f"{key} {str(kind)!r}")
    return found + [f"no {key}" for key in _NEEDED if config.get(key) is None]


def _rope_base(config: Mapping[str, Any]) -> float:
    settings = config.get("rope_parameters") or {}
    return float(settings.get("rope_theta") or config.get("rope_theta") or 10_000.0)


def _order(layers: int, loop: Loop | None) -> tuple[int, ...]:
    if loop is None:
        return tuple(range(layers))
    if not (0 <= loop.first <= loop.last < layers and loop.times >= 1):
        raise CheckpointError(
            f"loop: layers {loop.first} to {loop.last}, {loop.times} times, but the model has "
            f"layers 0 to {layers - 1} and a loop runs at least once"
        )
    return looped(layers, loop.first, loop.last, loop.times)


def looped(layers: int, first: int, last: int, times: int) -> tuple[int, ...]:
    """The layer whose weights each step uses: ``first`` to ``last``, inclusive, run ``times``."""
    return (*range(first), *tuple(range(first, last + 1)) * times, *range(last + 1, layers))
