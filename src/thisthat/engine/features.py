"""What a row's hidden states come to: the state's mean, its last token, and each slot's own.

Engines collect hidden states pass by pass; what is made of them is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from thisthat.engine.rows import Hidden, Logits, Row

READOUTS = ("mean", "last", "slot")
"""The second axis of a slot's features, in order."""


@dataclass(slots=True)
class RowAnswer:
    """A row's logits at its slots and, where asked for, hidden states as passes give them.

    ``trunk`` are parts [layers, tokens, width] that together make the row's trunk, ``slots`` states
    [layers, width], in order.
    """

    logits: list[Logits] = field(default_factory=list)
    trunk: list[Hidden] = field(default_factory=list)
    slots: list[Hidden] = field(default_factory=list)

    def add(self, rest: RowAnswer) -> None:
        """Go on with the answer of what was left of the row."""
        self.logits += rest.logits
        self.trunk += rest.trunk
        self.slots += rest.slots


def features_of(row: Row, answer: RowAnswer) -> Hidden | None:
    """Features [slots, layers, 3, width] of a row; None where it asks for none."""
    if not row.layers or not answer.slots:
        return None
    start, end = row.state
    trunk = answer.trunk[0] if len(answer.trunk) == 1 else np.concatenate(answer.trunk, axis=1)
    state = trunk[:, start:end]
    mean, last = state.mean(axis=1), state[:, -1]
    found: Hidden = np.stack([np.stack([mean, last, own], axis=1) for own in answer.slots])
    return found


def layers_of(rows: Sequence[Row]) -> tuple[int, ...]:
    """All layers that any of the rows asks for, in ascending order."""
    return tuple(sorted({layer for row in rows for layer in row.layers}))


def picked(hidden: Hidden, layers: Sequence[int], row: Row) -> Hidden:
    """Of hidden states after ``layers``, those after the row's own."""
    if tuple(layers) == row.layers:
        return hidden
    return hidden[[layers.index(layer) for layer in row.layers]]
