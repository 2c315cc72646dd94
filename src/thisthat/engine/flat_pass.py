"""Rows laid out one after another as a single sequence without padding, and cut into passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from thisthat.engine.layout import Integers, fresh_ids, lay_out, shape_of
from thisthat.engine.rows import Row


@dataclass(frozen=True, slots=True)
class FlatPass:
    """Token k is seen by the tokens from ``since[k]`` to ``until[k]`` (not included).

    ``slots`` are numbers of tokens too, and so are ``starts``, where a trunk or branch begins.
    """

    tokens: Integers
    positions: Integers
    since: Integers
    until: Integers
    slots: Integers
    starts: Integers


def lay_flat(rows: Sequence[Row], kept: int) -> FlatPass:
    """Rows in one sequence, each continuing the same ``kept`` tokens; prefixes are among those."""
    layouts = [lay_out(shape_of(row, kept)) for row in rows]
    lengths = [len(layout.positions) for layout in layouts]
    ids = chain.from_iterable(map(fresh_ids, rows))
    tokens = np.fromiter(ids, np.int64, sum(lengths))
    if len(layouts) == 1:
        (one,) = layouts
        return FlatPass(tokens, one.positions, one.since, one.until, one.slots, one.starts)
    placed = list(zip(np.cumsum([0, *lengths]).tolist(), layouts, strict=False))
    places = (
        np.concatenate([first + getattr(one, name) for first, one in placed])
        for name in ("since", "until", "slots", "starts")
    )
    return FlatPass(tokens, np.concatenate([one.positions for one in layouts]), *places)


def split_evenly(length: int, most: int) -> list[int]:
    """``length`` as the fewest parts of at most ``most``, none more than one longer than another.

    One part of 0 when there is nothing to split.
    """
    parts = max(1, -(-length // most))
    small, longer = divmod(length, parts)
    return [small + (number < longer) for number in range(parts)]


def pack(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Indices of ``sizes`` in order, grouped so that no group of several exceeds ``most``.

    There are as few groups as that allows, and the largest of several is as small as can be: what
    is left over for a last group would be read at the speed of a few tokens.
    """
    groups = _filled(sizes, most)
    fits, too_small = most, sum(sizes) // max(len(groups), 1) - 1
    while fits - too_small > 1:
        middle = (fits + too_small) // 2
        tried = _filled(sizes, middle)
        if len(tried) == len(groups):
            groups, fits = tried, middle
        else:
            too_small = middle
    return groups


def _filled(sizes: Sequence[int], most: int) -> list[list[int]]:
    """The same with every group filled before the next is begun."""
    groups: list[list[int]] = []
    room = 0
    for index, size in enumerate(sizes):
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(index)
        room -= size
    return groups
