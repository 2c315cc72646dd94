"""The sizes of a llama-type model, read from its configuration, and what is not one.

Qwen 2 is one: its queries, keys and values have biases, and all else is as in a llama.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from thisthat.errors import CheckpointError

if TYPE_CHECKING:
    from thisthat.checkpoint.card import Loop

_MOST = 1 << 21
_MOST_LAYERS = 1 << 10
"""Far beyond any model, so that a hostile configuration does not fill the memory."""

_PLAIN: dict[str, dict[str, object]] = {
    "llama": {"hidden_act": "silu", "attention_bias": False, "mlp_bias": False},
    "qwen2": {"hidden_act": "silu", "use_sliding_window": False},
}
"""The kinds of model, and what their settings must be where they are given."""
_SIZES = ("num_hidden_layers", "num_attention_heads", "hidden_size", "max_position_embeddings")
_NEEDED = (*_SIZES, "vocab_size", "rms_norm_eps")


@dataclass(frozen=True, slots=True)
class LlamaShape:
    """Sizes, and ``order``: the layer whose weights each step uses. Each step has its own K/V.

    ``biased`` says that queries, keys and values have biases.
    """

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
    biased: bool


def supports(config: Mapping[str, Any]) -> bool:
    """Whether a model with this configuration is of this type."""
    return not _obstacles(config)


def read_shape(config: Mapping[str, Any], loop: Loop | None = None) -> LlamaShape:
    """The shape of the model; raises CheckpointError naming what in it is not supported."""
    obstacles = _obstacles(config)
    if obstacles:
        raise CheckpointError(
            "the CPU engines run plain llama and qwen2 models, but this one has "
            f"{', '.join(obstacles)}"
        )
    heads, width = whole(config, "num_attention_heads"), whole(config, "hidden_size")
    return LlamaShape(
        order=_order(whole(config, "num_hidden_layers", _MOST_LAYERS), loop),
        width=width,
        heads=heads,
        shared_heads=whole(config, "num_key_value_heads", otherwise=heads),
        head_width=whole(config, "head_dim", otherwise=width // heads),
        epsilon=_real("rms_norm_eps", config["rms_norm_eps"]),
        rope_base=_rope_base(config),
        longest=whole(config, "max_position_embeddings"),
        vocabulary=whole(config, "vocab_size"),
        tied=bool(config.get("tie_word_embeddings", False)),
        biased=config["model_type"] == "qwen2",
    )


def whole(
    config: Mapping[str, Any], key: str, most: int = _MOST, otherwise: int | None = None
) -> int:
    """A size from the configuration; raises CheckpointError where that has none or an odd one."""
    value = config.get(key) or otherwise
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= most:
        raise CheckpointError(
            f"config.json: {key} is {str(value)[:50]!r}; it must be a whole number in 1 to {most}"
        )
    return int(value)


def _real(key: str, value: Any) -> float:
    try:
        number = float(value) if isinstance(value, Real) else 0.0
    except OverflowError:
        number = 0.0
    if not 0 < number < 1e30:
        raise CheckpointError(f"config.json: {key} is {str(value)[:50]!r}; it must be above 0")
    return number


def _obstacles(config: Mapping[str, Any]) -> list[str]:
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in _PLAIN:
        return [f"model_type {str(kind)[:50]!r}"]
    found = [
        f"{key} {config[key]!r}"
        for key, value in _PLAIN[kind].items()
        if config.get(key, value) != value
    ]
    for key in ("rope_parameters", "rope_scaling"):
        settings = config.get(key) or {}
        rope = settings
        if isinstance(settings, Mapping):
            rope = settings.get("rope_type", settings.get("type", "default"))
        if rope != "default":
            found.append(f"{key} {str(rope)[:50]!r}")
    return found + [f"no {key}" for key in _NEEDED if config.get(key) is None]


def _rope_base(config: Mapping[str, Any]) -> float:
    settings = config.get("rope_parameters") or {}
    base = settings.get("rope_theta") or config.get("rope_theta") or 10_000.0
    return _real("rope_theta", base)


def _order(layers: int, loop: Loop | None) -> tuple[int, ...]:
    if loop is None:
        return tuple(range(layers))
    if not (0 <= loop.first <= loop.last < layers and 1 <= loop.times <= _MOST_LAYERS):
        raise CheckpointError(
            f"loop: layers {loop.first} to {loop.last}, {loop.times} times, but the model has "
            f"layers 0 to {layers - 1} and a loop runs 1 to {_MOST_LAYERS} times"
        )
    return looped(layers, loop.first, loop.last, loop.times)


def looped(layers: int, first: int, last: int, times: int) -> tuple[int, ...]:
    """The layer whose weights each step uses: ``first`` to ``last``, inclusive, run ``times``."""
    return (*range(first), *tuple(range(first, last + 1)) * times, *range(last + 1, layers))
