"""A llama-type model as an ONNX graph with one primitive: a flat pass over trees after a prefix.

Inputs: ``tokens``, ``positions``, ``since``, ``until`` [T] (see flat_pass.py), ``slots`` [S] and
per step the keys and values of the P tokens already read. Outputs: ``logits`` [S, labels] over the
label rows only, per step the keys and values of all P + T tokens, and the hidden states [T, width]
after each step but the last. The mask is made inside the graph, and the last step computes queries,
outputs and feed-forward only at the slots. Weights have their Hugging Face names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.onnx.graph_writer import CONTRIB, GraphWriter
from thisthat.engine.onnx.linear_forms import GraphRows, LinearForm, settle
from thisthat.engine.rope import rotary_tables
from thisthat.errors import CheckpointError

Array = NDArray[np.float32]

_HIDDEN = np.float32(-1e9)
"""Added to the score of a key that a token must not see; its weight becomes exactly zero."""


def key_and_value_names(step: int) -> tuple[str, str]:
    """The outputs that hold a step's keys and values; the inputs have ``past_`` before them."""
    return f"key_{step}", f"value_{step}"


def hidden_name(layer: int) -> str:
    """The output that holds the hidden states after so many steps."""
    return f"after_{layer}"


def build_graph(
    weights: Mapping[str, Array],
    shape: LlamaShape,
    label_ids: Sequence[int],
    form: LinearForm,
    data: BinaryIO,
    location: str,
) -> bytes:
    """The serialised graph; its weights are written to ``data``, which it names ``location``.

    Raises CheckpointError naming a tensor that is missing.
    """
    return _LlamaGraph(weights, shape, form, GraphWriter(data, location)).build(label_ids)


class _LlamaGraph:
    def __init__(
        self,
        weights: Mapping[str, Array],
        shape: LlamaShape,
        form: LinearForm,
        graph: GraphWriter,
    ) -> None:
        self._weights = weights
        self._shape = shape
        self._form = form
        self._graph = graph

    def build(self, label_ids: Sequence[int]) -> bytes:
        graph, shape = self._graph, self._shape
        last = len(shape.order) - 1
        mask = self._mask()
        batch = graph.constant([0], np.int64)
        self._positions = graph.node("Unsqueeze", "positions", batch)
        tables = rotary_tables(shape, shape.longest)
        self._tables = [graph.constant(table) for table in tables]
        table = self._weight("model.embed_tokens.weight")
        hidden = self._form.embedding(graph, table, "tokens")
        for step, layer in enumerate(shape.order):
            start = f"model.layers.{layer}."
            if step == 0:
                norm = graph.constant(self._weight(f"{start}input_layernorm.weight"))
                first = graph.node("RMSNormalization", hidden, norm, axis=-1, epsilon=shape.epsilon)
                normed = GraphRows(first, "tokens")
            asked = normed
            positions = self._positions
            if step == last:
                at_slots, hidden, mask = (
                    graph.node("Gather", source, "slots")
                    for source in (normed.values, hidden, mask)
                )
                asked = GraphRows(at_slots, "slots")
                positions = graph.node(
                    "Unsqueeze", graph.node("Gather", "positions", "slots"), batch
                )
            attended = self._attention(step, start, normed, asked, positions, mask)
            normed, hidden = self._add_and_norm(
                attended,
                hidden,
                f"{start}post_attention_layernorm.weight",
                graph.name("hidden"),
            )
            following = (
                "model.norm.weight"
                if step == last
                else f"model.layers.{shape.order[step + 1]}.input_layernorm.weight"
            )
            name = graph.name("hidden") if step == last else hidden_name(step + 1)
            normed, hidden = self._add_and_norm(
                self._feed_forward(start, normed), hidden, following, name
            )
        rows = (table if shape.tied else self._weight("lm_head.weight"))[list(label_ids)]
        graph.nodes("MatMul", [normed.values, graph.constant(rows.T)], ["logits"])
        return self._finish(len(label_ids))

    def _mask(self) -> str:
        """Zero where a token is seen and a large negative number where not, [T, P + T]."""
        graph = self._graph
        zero, one = graph.constant(np.int64(0)), graph.constant(np.int64(1))
        count = graph.node("Size", "tokens")
        places = graph.node("Range", zero, count, one)
        queries = graph.node("Unsqueeze", places, graph.constant([1], np.int64))
        seen = graph.node(
            "And",
            graph.node("LessOrEqual", "since", queries),
            graph.node("Less", queries, "until"),
        )
        mask = graph.node("Where", seen, graph.constant(np.float32(0)), graph.constant(_HIDDEN))
        kept = graph.node("Shape", f"past_{key_and_value_names(0)[0]}", start=2, end=3)
        nothing = graph.constant([0], np.int64)
        pads = graph.node("Concat", nothing, kept, nothing, nothing, axis=0)
        return graph.node("Pad", mask, pads)

    def _attention(
        self, step: int, start: str, normed: GraphRows, asked: GraphRows, positions: str, mask: str
    ) -> GraphRows:
        graph, shape = self._graph, self._shape
        query, key, value = self._projections(f"{start}self_attn.", normed, asked)
        names = key_and_value_names(step)
        output = graph.nodes(
            "Attention",
            [
                self._rotate(query, positions, shape.heads),
                self._rotate(key, self._positions, shape.shared_heads),
                value,
                mask,
                *(f"past_{name}" for name in names),
            ],
            [graph.name("attention"), *names],
            q_num_heads=shape.heads,
            kv_num_heads=shape.shared_heads,
        )[0]
        rows = graph.node("Squeeze", output, graph.constant([0], np.int64))
        weight = self._weight(f"{start}self_attn.o_proj.weight")
        return self._form.linear(graph, GraphRows(rows, asked.places), weight)

    def _projections(self, start: str, normed: GraphRows, asked: GraphRows) -> list[str]:
        """Queries of ``asked``, keys and values of ``normed``, each [1, rows, outputs].

        Where all rows ask, they are one product.
        """
        names = [f"{start}{name}_proj" for name in "qkv"]
        if asked != normed:
            return [*self._projected(asked, names[:1]), *self._projected(normed, names[1:])]
        return self._projected(normed, names)

    def _projected(self, rows: GraphRows, names: Sequence[str]) -> list[str]:
        graph = self._graph
        weights = [self._weight(f"{name}.weight") for name in names]
        product = settle(graph, self._form.linear(graph, rows, np.concatenate(weights)))
        if self._shape.biased:
            biases = np.concatenate([self._weight(f"{name}.bias") for name in names])
            product = graph.node("Add", product, graph.constant(biases))
        whole = graph.node("Unsqueeze", product, graph.constant([0], np.int64))
        if len(weights) == 1:
            return [whole]
        sizes = graph.constant([len(weight) for weight in weights], np.int64)
        parts = [graph.name("projected") for _ in weights]
        return graph.nodes("Split", [whole, sizes], parts, axis=-1)

    def _rotate(self, values: str, positions: str, heads: int) -> str:
        return self._graph.node(
            "RotaryEmbedding", values, *self._tables, positions, num_heads=heads
        )

    def _feed_forward(self, start: str, normed: GraphRows) -> GraphRows:
        graph, form = self._graph, self._form
        gate = form.linear(graph, normed, self._weight(f"{start}mlp.gate_proj.weight"))
        opened = graph.node("QuickGelu", settle(graph, gate), domain=CONTRIB, alpha=1.0)
        up = form.linear(graph, normed, self._weight(f"{start}mlp.up_proj.weight"))
        inner = replace(up, values=graph.node("Mul", opened, up.values))
        return form.linear(graph, inner, self._weight(f"{start}mlp.down_proj.weight"))

    def _add_and_norm(
        self, update: GraphRows, hidden: str, norm: str, name: str
    ) -> tuple[GraphRows, str]:
        """The normalised sum, and the sum itself, called ``name``."""
        graph = self._graph
        normed, _, _, total = graph.nodes(
            "SkipSimplifiedLayerNormalization",
            [settle(graph, update), hidden, graph.constant(self._weight(norm))],
            [graph.name("normed"), "", "", name],
            domain=CONTRIB,
            epsilon=self._shape.epsilon,
        )
        return GraphRows(normed, update.places), total

    def _weight(self, name: str) -> Array:
        if name not in self._weights:
            raise CheckpointError(f"the tensor {name} is missing")
        return self._weights[name]

    def _finish(self, labels: int) -> bytes:
        shape = self._shape
        names = [name for step in range(len(shape.order)) for name in key_and_value_names(step)]

        def kept(name: str, length: str) -> object:
            size = [1, shape.shared_heads, length, shape.head_width]
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, size)

        counts = {"tokens": "T", "positions": "T", "since": "T", "until": "T", "slots": "S"}
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, [size])
            for name, size in counts.items()
        ]
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["S", labels])
        return self._graph.model(
            [*inputs, *(kept(f"past_{name}", "P") for name in names)],
            [
                logits,
                *(kept(name, "N") for name in names),
                *(
                    helper.make_tensor_value_info(
                        hidden_name(layer), TensorProto.FLOAT, ["T", shape.width]
                    )
                    for layer in range(1, len(shape.order))
                ),
            ],
        )
