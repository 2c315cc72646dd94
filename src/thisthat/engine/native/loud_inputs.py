"""Inputs of a product that are so much larger than the others that they would coarsen them.

After a norm, a few columns are loud in every token; which ones, any tokens show. Knows nothing of
kernels; ``pack.py`` puts their weights apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.llama_shape import LlamaShape
from thisthat.engine.native.plain_step import plain_step
from thisthat.engine.rope import rotary_tables

LOUD = 16
"""So many inputs are carried apart, as in rows.h."""

_TOKENS = 64


class Listener:
    """Reads some tokens, drawn once for all, through the layers of a model as they come."""

    def __init__(self, shape: LlamaShape, embedding: NDArray[np.float32]) -> None:
        count = min(_TOKENS, shape.longest)
        ids = np.random.default_rng(0).integers(0, len(embedding), count)
        self._shape = shape
        self._hidden = np.asarray(embedding[ids], np.float32)
        self._ropes = rotary_tables(shape, count)
        self._seen = np.tri(count, dtype=np.bool_)

    def hear(self, layer: Mapping[str, NDArray[np.float32]]) -> dict[str, list[int]]:
        """The loudest inputs of two products of the next layer, ascending.

        ``plain_step`` says how its weights are called.
        """
        step = plain_step(self._shape, layer, self._hidden, self._ropes, self._seen)
        self._hidden = step.hidden
        return {"projections": _loudest(step.projected), "gate_up": _loudest(step.gated)}


def _loudest(given: NDArray[np.float32]) -> list[int]:
    order = np.argsort((given**2).mean(axis=0), kind="stable")
    return sorted(order[-LOUD:].tolist())
