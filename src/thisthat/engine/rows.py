"""What an engine is given: rows of token ids with slots. Knows nothing of text.

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

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]
Logits = NDArray[np.float32]


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


@dataclass(frozen=True, slots=True)
class Row:
    """One tree: a prefix to keep (maybe empty), a trunk (maybe empty), one or more branches.

    ``opened`` is how many tokens of the trunk, from its first on, see each other.
    """

    prefix: Tokens
    trunk: Tokens
    branches: tuple[Branch, ...]
    opened: int = 0

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


@dataclass(frozen=True, slots=True)
class RowResult:
    """Logits at the row's slots, branch by branch, and how many prefix tokens were not computed.

    ``logits[k]`` has one entry per option of slot k, before any temperature.
    """

    logits: tuple[Logits, ...]
    cached_tokens: int
