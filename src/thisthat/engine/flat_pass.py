"""Trees laid out one after another as a single sequence without padding.

Every token carries its position and two places: it is seen by the tokens from ``since`` on and
before ``until``. Trees are written trunk first, then branch by branch, so "a trunk is seen to the
end of its tree, a branch to its own end, an open token from the start of its block on" is all there
is to a tree mask. Knows nothing of weights or runtimes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thisthat.engine.bidirectional import since as seen_since
from thisthat.engine.rows import Branch, Tokens

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tree:
    """A trunk and its branches; slots of the branches count from the branch's first token.

    The first ``opened`` tokens of the trunk see each other, in blocks.
    """

    trunk: Tokens
    branches: tuple[Branch, ...]
    opened: int = 0

    @property
    def tokens(self) -> int:
        """Tokens the tree adds to a pass."""
        return len(self.trunk) + sum(len(branch.tokens) for branch in self.branches)


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


def lay_flat(trees: Sequence[Tree], kept: int) -> FlatPass:
    """``trees`` in one sequence, each continuing the same ``kept`` tokens."""
    tokens: list[int] = []
    positions: list[int] = []
    since: list[int] = []
    until: list[int] = []
    slots: list[int] = []
    starts: set[int] = set()
    for tree in trees:
        first, end = len(tokens), len(tokens) + tree.tokens
        starts.add(first)
        tokens += tree.trunk
        fork = kept + len(tree.trunk)
        positions += range(kept, fork)
        since += (first + seen_since(tree.tokens, tree.opened)).tolist()
        until += [end] * len(tree.trunk)
        for branch in tree.branches:
            start = len(tokens)
            starts.add(start)
            tokens += branch.tokens
            positions += range(fork, fork + len(branch.tokens))
            until += [start + len(branch.tokens)] * len(branch.tokens)
            slots += [start + slot.at for slot in branch.slots]
    return FlatPass(
        np.array(tokens, np.int64),
        np.array(positions, np.int64),
        np.array(since, np.int64),
        np.array(until, np.int64),
        np.array(slots, np.int64),
        np.array(sorted(starts), np.int64),
    )


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
