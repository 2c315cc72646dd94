"""Linear layers of a graph, one class per numeric form.

Activations are rows, one per token. A form may leave a factor per row for later
(``GraphRows.scale``), because the next step often absorbs it for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.onnx.graph_writer import CONTRIB, GraphWriter
from thisthat.engine.onnx.int8_probe import ProbeLimits

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class GraphRows:
    """The tensor ``values`` [rows, width] times ``scale`` [rows, 1], where there is one.

    ``places`` is a tensor of the graph with one entry per row.
    """

    values: str
    places: str
    scale: str | None = None


class LinearForm(Protocol):
    """How weights are stored and multiplied."""

    def embedding(self, graph: GraphWriter, table: Array, tokens: str) -> str:
        """The rows of ``table`` for ``tokens``, in float32."""

    def linear(self, graph: GraphWriter, rows: GraphRows, weight: Array) -> GraphRows:
        """``rows`` times the transpose of ``weight`` [outputs, inputs]."""


def settle(graph: GraphWriter, rows: GraphRows) -> str:
    """The rows as one tensor, their scale applied."""
    if rows.scale is None:
        return rows.values
    return graph.node("Mul", rows.values, rows.scale)


class Float32Linear:
    """Weights and arithmetic in float32."""

    def embedding(self, graph: GraphWriter, table: Array, tokens: str) -> str:
        """The rows of ``table`` for ``tokens``."""
        return graph.node("Gather", graph.constant(table), tokens)

    def linear(self, graph: GraphWriter, rows: GraphRows, weight: Array) -> GraphRows:
        """``rows`` times the transpose of ``weight``; a scale stays pending."""
        product = graph.node("MatMul", rows.values, graph.constant(weight.T))
        return replace(rows, values=product)


class _Float16Embedding:
    def embedding(self, graph: GraphWriter, table: Array, tokens: str) -> str:
        """The rows of ``table`` for ``tokens``, stored in float16."""
        rows = graph.node("Gather", graph.constant(table, np.float16), tokens)
        return graph.node("Cast", rows, to=1)


class Int8Linear(_Float16Embedding):
    """Eight-bit weights, a scale per output; activations as one or two eight-bit terms per token.

    One eight-bit term rounds every activation by almost a hundredth of its token's size, and thirty
    layers make other answers of that, unless the model was trained with that rounding. The second
    term holds what the first rounds off, in steps 254 times finer (126 where terms have seven
    bits). Both are rows of the same product, so weights are stored and read once. A scale per token
    keeps a token with outliers from spoiling the others, and an answer from depending on what else
    is in the pass.
    """

    def __init__(self, limits: ProbeLimits, one_term: bool = False) -> None:
        """Weights and terms are stored as whole numbers within ``limits``."""
        self._limits = limits
        self._one_term = one_term
        self._zero = np.uint8(limits.zero)
        self._share = np.float32(1 / limits.activation)
        # The first term leaves half a step at most.
        self._finer = 2 * limits.activation
        self._quantised: dict[str, tuple[str, str]] = {}
        self._middles: dict[str, str] = {}

    def linear(self, graph: GraphWriter, rows: GraphRows, weight: Array) -> GraphRows:
        """``rows`` times the transpose of ``weight``, with a scale per row pending."""
        terms, scale = self._quantise(graph, rows)
        steps = np.maximum(np.abs(weight).max(axis=1) / self._limits.weight, 1e-12)
        steps = steps.astype(np.float32)
        products = graph.node(
            "MatMulIntegerToFloat",
            terms,
            graph.constant(np.rint(weight / steps[:, None]).T, np.int8),
            graph.constant(np.float32(1)),
            graph.constant(steps),
            graph.constant(self._zero),
            domain=CONTRIB,
        )
        if rows.scale is not None:
            scale = graph.node("Mul", scale, rows.scale)
        if self._one_term:
            return GraphRows(products, rows.places, scale)
        # Adding the terms as a product of two rows takes one walk over them, without a copy.
        pair = graph.node("Reshape", products, graph.constant([2, -1], np.int64))
        sizes = graph.constant([[1, 1 / self._finer]], np.float32)
        total = graph.node("MatMul", sizes, pair)
        product = graph.node("Reshape", total, graph.constant([-1, len(weight)], np.int64))
        return GraphRows(product, rows.places, scale)

    def _quantise(self, graph: GraphWriter, rows: GraphRows) -> tuple[str, str]:
        """The values as bytes, coarse rows above any fine ones; the scale [rows, 1]."""
        values = rows.values
        if values not in self._quantised:
            largest = graph.node(
                "ReduceMax", graph.node("Abs", values), graph.constant([-1], np.int64), keepdims=0
            )
            # A row of zeros would be divided by zero; its scale of zero still gives zeros back.
            steps = graph.node("Mul", largest, graph.constant(self._share))
            middle = self._middle(graph, rows.places)
            # onnxruntime 1.23, the last for Python 3.10, does not have those of opset 23.
            terms = graph.node("QuantizeLinear", values, steps, middle, axis=0, domain=CONTRIB)
            if not self._one_term:
                known = graph.node("DequantizeLinear", terms, steps, middle, axis=0, domain=CONTRIB)
                rest = graph.node("Sub", values, known)
                finer = graph.node("Mul", steps, graph.constant(np.float32(1 / self._finer)))
                fine = graph.node("QuantizeLinear", rest, finer, middle, axis=0, domain=CONTRIB)
                terms = graph.node("Concat", terms, fine, axis=0)
            column = graph.node("Unsqueeze", steps, graph.constant([-1], np.int64))
            self._quantised[values] = (terms, column)
        return self._quantised[values]

    def _middle(self, graph: GraphWriter, places: str) -> str:
        """The byte that stands for zero, once per row; all layers share it."""
        if places not in self._middles:
            count = graph.node("Shape", places)
            self._middles[places] = graph.node("Expand", graph.constant(self._zero), count)
        return self._middles[places]


class Block8Linear(_Float16Embedding):
    """Eight-bit weights and activations with a scale per 32 inputs: faithful, slower than int8."""

    _BLOCK = 32

    def linear(self, graph: GraphWriter, rows: GraphRows, weight: Array) -> GraphRows:
        """``rows`` times the transpose of ``weight``; a scale stays pending."""
        outputs, inputs = weight.shape
        padded = np.pad(weight, ((0, 0), (0, -inputs % self._BLOCK)))
        blocks = padded.reshape(outputs, -1, self._BLOCK)
        steps = np.maximum(np.abs(blocks).max(axis=-1) / 127, 1e-12).astype(np.float32)
        product = graph.node(
            "MatMulNBits",
            rows.values,
            graph.constant(np.rint(blocks / steps[..., None]) + 128, np.uint8),
            graph.constant(steps),
            domain=CONTRIB,
            N=outputs,
            K=inputs,
            bits=8,
            block_size=self._BLOCK,
            accuracy_level=4,
        )
        return replace(rows, values=product)
