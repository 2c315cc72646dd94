"""A llama-type model's weights in the order the kernels read them, as one file with an index.

Linear weights become bytes with a step per output. Knows the kernels' layouts and llama weights by
their Hugging Face names; nothing of threads or passes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.llama_shape import LlamaShape, whole
from thisthat.engine.native.library import Order
from thisthat.engine.native.loud_inputs import LOUD, Listener
from thisthat.engine.native.plain_step import plain_rope
from thisthat.engine.rope import rotary_tables
from thisthat.errors import CheckpointError

Array = NDArray[np.float32]

LANES, PANEL, DEPTH = 16, 32, 64
LEVELS = 127
HAS_LOUD = ("projections", "gate_up")
"""Products whose loud inputs are carried apart."""
SPANS = {
    "projections": (288, 192, 128, 64),
    "out": (192, 128, 64),
    "gate_up": (288, 192, 128, 64),
    "down": (96, 64),
}
"""Inputs of which a token's activations share a step: the first of these that divides them. They
may be long where loud inputs are apart, and are short where large ones move from token to token."""
_PAGE = 4096
_PARTS = {
    "": ("input_layernorm", "post_attention_layernorm"),
    "self_attn.": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "mlp.": ("gate_proj", "up_proj", "down_proj"),
}
_FIRST = 1024
_BIASED = ("q_proj", "k_proj", "v_proj")


def obstacle(shape: LlamaShape, inner: int) -> str | None:
    """Why the kernels cannot run a model of these sizes; None when they can."""
    group = shape.heads // shape.shared_heads
    sizes = {
        "hidden_size": (shape.width, DEPTH),
        "intermediate_size": (inner, DEPTH),
        "heads times head_dim": (shape.heads * shape.head_width, DEPTH),
        "head_dim": (shape.head_width, 64),
    }
    for name, (size, step) in sizes.items():
        if size % step:
            return f"{name} is {size}, no multiple of {step}"
    if shape.head_width > 512 or not 1 <= group <= 12 or shape.heads % shape.shared_heads:
        return f"{shape.heads} heads of {shape.head_width} on {shape.shared_heads} shared ones"
    return None


def inner_size(config: Mapping[str, Any]) -> int:
    """The width of the feed-forward part. Raises CheckpointError without one."""
    return whole(config, "intermediate_size")


def write_packed(
    weights: Mapping[str, Array],
    shape: LlamaShape,
    label_ids: Sequence[int],
    order: Order,
    data: BinaryIO,
) -> bytes:
    """Write all tensors to ``data`` and give back the index: where each one begins.

    Raises CheckpointError naming a tensor that is missing.
    """
    writer = _Writer(data)
    table = _found(weights, "model.embed_tokens.weight")
    writer.add("embedding", table.astype(np.float16))
    rows = table if shape.tied else _found(weights, "lm_head.weight")
    writer.add("label_rows", rows[list(label_ids)])
    writer.add("norm", _found(weights, "model.norm.weight"))
    for name, rope in zip(("cosines", "sines"), rotary_tables(shape, shape.longest), strict=True):
        writer.add(name, rope)
    listener = Listener(shape, table)
    for layer in sorted(set(shape.order)):
        parts = layer_of(weights, shape, layer)
        if shape.biased:
            biases = [parts[f"{name}.bias"] for name in _BIASED]
            writer.add(f"{layer}.biases", np.concatenate(biases))
            writer.add(f"{layer}.common", common_of_keys(parts["k_proj.bias"], shape))
        _write_layer(writer, parts, layer, order, listener)
    return json.dumps(writer.index).encode()


def tensor_bytes(shape: LlamaShape, inner: int, labels: int) -> dict[str, int]:
    """How large every tensor is that ``write_packed`` writes."""
    width, wide = shape.width, shape.heads * shape.head_width
    found = {"embedding": 2 * shape.vocabulary * width, "label_rows": 4 * labels * width}
    found |= {"norm": 4 * width}
    found |= dict.fromkeys(("cosines", "sines"), 2 * shape.longest * shape.head_width)
    matrices = {
        "projections": (wide + 2 * shape.shared_heads * shape.head_width, width),
        "out": (width, wide),
        "gate_up": (2 * inner, width),
        "down": (width, inner),
    }
    for layer in set(shape.order):
        found |= {f"{layer}.before": 4 * width, f"{layer}.after": 4 * width}
        if shape.biased:
            found[f"{layer}.biases"] = 4 * matrices["projections"][0]
            found[f"{layer}.common"] = 4 * shape.shared_heads * shape.head_width
        for name, (outputs, inputs) in matrices.items():
            found[f"{layer}.{name}"] = outputs * inputs
            found[f"{layer}.{name}.steps"] = 4 * outputs
            span = span_of(name, inputs)
            found[f"{layer}.{name}.sums"] = 4 * outputs * (inputs // span)
            if name in HAS_LOUD:
                found[f"{layer}.{name}.loud"] = 4 * LOUD
                found[f"{layer}.{name}.loud_weights"] = outputs * LOUD
                found[f"{layer}.{name}.loud_sums"] = 4 * outputs
    return found


def layer_of(weights: Mapping[str, Array], shape: LlamaShape, layer: int) -> dict[str, Array]:
    """A layer's tensors as ``plain_step`` calls them."""
    start = f"model.layers.{layer}."
    parts = {
        name: _found(weights, f"{start}{group}{name}.weight")
        for group, names in _PARTS.items()
        for name in names
    }
    biases = _BIASED if shape.biased else ()
    return parts | {
        f"{name}.bias": _found(weights, f"{start}self_attn.{name}.bias") for name in biases
    }


def common_of_keys(bias: Array, shape: LlamaShape) -> Array:
    """The mean of the keys' bias as it stands at the first positions.

    Where rotation is slow, biases are large, and that is nearly all of them.
    """
    ropes = rotary_tables(shape, min(shape.longest, _FIRST))
    heads = bias.reshape(1, shape.shared_heads, shape.head_width)
    return plain_rope(heads, *(table.mean(axis=0, keepdims=True) for table in ropes))


def _write_layer(
    writer: _Writer, parts: Mapping[str, Array], layer: int, order: Order, listener: Listener
) -> None:
    loud = listener.hear(parts)
    writer.add(f"{layer}.before", parts["input_layernorm"])
    writer.add(f"{layer}.after", parts["post_attention_layernorm"])
    attention = [parts[f"{name}_proj"] for name in "qkvo"]
    gate, up, down = (parts[f"{name}_proj"] for name in ("gate", "up", "down"))
    # A panel holds 16 gates and then their 16 inputs, so that one kernel call sees both.
    pairs = np.stack([part.reshape(-1, LANES, part.shape[1]) for part in (gate, up)], axis=1)
    matrices = {
        "projections": np.concatenate(attention[:3]),
        "out": attention[3],
        "gate_up": pairs.reshape(-1, gate.shape[1]),
        "down": down,
    }
    for name, matrix in matrices.items():
        steps = np.maximum(np.abs(matrix).max(axis=1) / LEVELS, 1e-12).astype(np.float32)
        whole = np.rint(matrix / steps[:, None]).astype(np.int8)
        writer.add(f"{layer}.{name}.steps", steps)
        apart = loud.get(name, ())
        span = span_of(name, whole.shape[1])
        for part, array in packed_parts(whole, order, span, apart).items():
            writer.add(f"{layer}.{name}{part}", array)


def packed_parts(
    whole: NDArray[np.int8], order: Order, span: int, loud: Sequence[int] = ()
) -> dict[str, NDArray[Any]]:
    """All that kernels read of the weights [outputs, inputs] but their steps, by what it is called.

    ``loud`` are the inputs to be carried apart, LOUD of them or none.
    """
    found: dict[str, NDArray[Any]] = {
        "": packed(whole, order),
        ".sums": span_sums(whole, span),
    }
    if loud:
        apart = whole[:, list(loud)]
        found[".loud"] = np.array(loud, np.int32)
        found[".loud_weights"] = packed(apart, order)
        found[".loud_sums"] = apart.sum(axis=1, dtype=np.int32)
    return found


def span_sums(whole: NDArray[np.int8], span: int) -> NDArray[np.int32]:
    """Sums of the weights [outputs, inputs] in every span of inputs: panels x spans x PANEL."""
    outputs, inputs = whole.shape
    parts = whole.reshape(outputs // PANEL, PANEL, inputs // span, span)
    sums: NDArray[np.int32] = parts.sum(axis=3, dtype=np.int32)
    return sums.transpose(0, 2, 1)


def span_of(name: str, inputs: int) -> int:
    """How many inputs of a token share a step in a product, by its name in ``SPANS``."""
    return next(size for size in SPANS[name] if inputs % size == 0)


def packed(whole: NDArray[np.int8], order: Order) -> NDArray[np.int8]:
    """Weights [outputs, inputs] in the order that kernels read them."""
    outputs, inputs = whole.shape
    if order == "by ones":
        return whole.reshape(outputs // PANEL, PANEL, inputs).transpose(0, 2, 1).reshape(-1)
    fours = whole.reshape(outputs // LANES, LANES, inputs // 4, 4)
    return fours.transpose(0, 2, 1, 3).reshape(-1)


class _Writer:
    def __init__(self, data: BinaryIO) -> None:
        self._data = data
        self._written = 0
        self.index: dict[str, int] = {}

    def add(self, name: str, array: NDArray[Any]) -> None:
        padding = -self._written % _PAGE
        self._data.write(b"\0" * padding)
        start = self._written + padding
        flat = np.ascontiguousarray(array).reshape(-1)
        self._data.write(flat.view(np.uint8).data)
        self._written = start + flat.nbytes
        self.index[name] = start


def _found(weights: Mapping[str, Array], name: str) -> Array:
    if name not in weights:
        raise CheckpointError(f"the tensor {name} is missing")
    return weights[name]
