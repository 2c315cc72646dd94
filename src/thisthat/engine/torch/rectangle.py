"""Rows of a pass laid out as a rectangle of arrays: ids, positions, sight and slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thisthat.engine.layout import Integers, fresh_ids, lay_out, shape_of
from thisthat.engine.rows import Row


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Arrays [batch, width]; ``slots`` are places in the flattened rectangle, row by row.

    A place is seen by those of its row from ``since`` on and before ``until``. ``kept`` [batch] are
    the tokens read before; ``tokens`` of all places are not padding. ``is_plain`` where ordinary
    causal attention is right: one branch each, equally much kept, no trunk open.
    """

    ids: Integers
    positions: Integers
    since: Integers
    until: Integers
    slots: Integers
    kept: Integers
    tokens: int
    is_plain: bool


def rectangle_of(rows: Sequence[Row], last_position: int) -> Rectangle:
    """Rows whose prefixes are kept, padded on the right so that no slot sees padding.

    Padded positions stay at or below ``last_position``.
    """
    lengths = [row.fresh_tokens for row in rows]
    width = max(lengths)
    shape = (len(rows), width)
    ids = np.zeros(shape, np.int64)
    kept = np.array([len(row.prefix) for row in rows], np.int64)
    positions = np.minimum(kept[:, None] + np.arange(width), last_position)
    since = np.tile(np.arange(width), (len(rows), 1))
    until = np.full(shape, width, np.int64)
    slots: list[Integers] = []
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        layout = lay_out(shape_of(row, len(row.prefix)))
        fork = len(row.trunk)
        ids[number, :length] = np.fromiter(fresh_ids(row), np.int64, length)
        positions[number, fork:length] = layout.positions[fork:]
        since[number, :length] = layout.since
        until[number, fork:length] = layout.until[fork:]
        slots.append(number * width + layout.slots)
    plain = (
        all(len(row.branches) <= 1 for row in rows)
        and bool((kept == kept[0]).all())
        and bool((since == np.arange(width)).all())
    )
    return Rectangle(ids, positions, since, until, np.concatenate(slots), kept, sum(lengths), plain)
