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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

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


class Engine(Protocol):
    """Rows in, logits at the slots out. Opened with the ids of the 255 label tokens."""

    @property
    def description(self) -> str:
        """One line for people: runtime, device, numeric form."""

    @property
    def longest(self) -> int:
        """The most tokens on one path from the first prefix token to a branch's end."""

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """Answer all rows, batched as the engine sees fit, in the caller's order."""


class AheadEngine(Engine, Protocol):
    """An engine whose device works on while its caller does something else."""

    def begin(self, rows: Sequence[Row]) -> Callable[[], list[RowResult]]:
        """Set the device to work; what is returned waits for the answers."""
