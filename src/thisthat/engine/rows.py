"""What an engine is given: rows of token ids with slots.

A row is a tree with one trunk. The prefix is the same for every state of a schema, so it is worth
keeping; the trunk is read once; each branch continues the trunk without seeing its siblings, at
the same positions. A slot is a place in a branch whose hidden state answers one question.

                      ┌ branch 0 … slot
    prefix ── trunk ──┼ branch 1 … slot
                      └ branch 2 … slot … slot

`together` is one branch with all slots; `apart` is one branch per question. Tokens see what is
before them on their path. The first ``opened`` tokens of a trunk also see each other, in blocks:
see ``bidirectional``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]
Logits = NDArray[np.float32]
Hidden = NDArray[np.float32]


class SaltedTokens(tuple[int, ...]):
    """Tokens that equal only tokens with the same salt.

    As the prefix of a row they are kept for those who know the salt: what is reused tells nobody
    what others have asked.
    """

    salt: str

    def __new__(cls, tokens: Tokens, salt: str) -> SaltedTokens:
        """``tokens`` with a salt."""
        salted = super().__new__(cls, tokens)
        salted.salt = salt
        return salted

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, SaltedTokens) and self.salt == other.salt
        return same and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.salt, tuple.__hash__(self)))


@dataclass(frozen=True, slots=True)
class Slot:
    """``at`` is an offset into the branch's tokens; ``options`` is how many labels count."""

    at: int
    options: int


@dataclass(frozen=True, slots=True)
class Branch:
    """Tokens after the trunk, and the slots among them in ascending order."""

    tokens: Tokens
    slots: tuple[Slot, ...]

    def after(self, head: Tokens) -> Branch:
        """The branch with ``head`` before it; its slots stay on their tokens."""
        slots = tuple(Slot(slot.at + len(head), slot.options) for slot in self.slots)
        return Branch(head + self.tokens, slots)

    def part(self, start: int, end: int | None = None) -> Branch:
        """The tokens from ``start`` to ``end`` and the slots among them."""
        end = len(self.tokens) if end is None else end
        inside = (slot for slot in self.slots if start <= slot.at < end)
        slots = tuple(Slot(slot.at - start, slot.options) for slot in inside)
        return Branch(self.tokens[start:end], slots)


@dataclass(frozen=True, slots=True)
class Row:
    """One tree: a prefix to keep (maybe empty), a trunk (maybe empty), one or more branches.

    ``opened`` is how many tokens of the trunk, from its first on, see each other. ``state`` is
    where in the trunk the state begins and ends; hidden states are wanted after each of ``layers``.
    """

    prefix: Tokens
    trunk: Tokens
    branches: tuple[Branch, ...]
    opened: int = 0
    state: tuple[int, int] = (0, 0)
    layers: tuple[int, ...] = ()

    @property
    def fresh_tokens(self) -> int:
        """Tokens that must be computed when the prefix is already kept."""
        return len(self.trunk) + sum(len(branch.tokens) for branch in self.branches)

    @property
    def tokens(self) -> int:
        """All tokens of the tree, each counted once."""
        return len(self.prefix) + self.fresh_tokens

    @property
    def slots(self) -> int:
        """How many answers the row gives."""
        return sum(len(branch.slots) for branch in self.branches)

    @property
    def answering(self) -> Row:
        """The row without branches that answer nothing."""
        if all(branch.slots for branch in self.branches):
            return self
        return replace(self, branches=tuple(each for each in self.branches if each.slots))

    def cut_to_options(self, logits: Iterable[Logits]) -> tuple[Logits, ...]:
        """Logits at the row's slots, each cut to the options that count."""
        slots = (slot for branch in self.branches for slot in branch.slots)
        return tuple(found[: slot.options] for found, slot in zip(logits, slots, strict=True))


def with_prefix_in_trunk(row: Row) -> Row:
    """The row without a prefix: its tokens begin the trunk."""
    start, end = (place + len(row.prefix) for place in row.state)
    return replace(row, prefix=(), trunk=row.prefix + row.trunk, state=(start, end))


@dataclass(frozen=True, slots=True)
class RowResult:
    """Logits at the row's slots, branch by branch, and how many prefix tokens were not computed.

    ``logits[k]`` has one entry per option of slot k, before any temperature. ``features[k]`` are
    hidden states [layers, 3, width] of slot k: the state's mean, its last token, the slot's own.
    """

    logits: tuple[Logits, ...]
    cached_tokens: int
    features: Hidden | None = None


def by_row(logits: Logits, rows: Sequence[Row]) -> list[list[Logits]]:
    """Logits of all slots of a pass, given to their rows and cut to the options that count."""
    left = iter(logits)
    return [list(row.cut_to_options(islice(left, row.slots))) for row in rows]
