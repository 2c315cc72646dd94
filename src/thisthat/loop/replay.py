"""Two checkpoints on the same decisions, where the right answer is known whatever was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thisthat.errors import InvalidInputError
from thisthat.loop.betting import interval


@dataclass(frozen=True)
class Replay:
    """Mean reward of both on the same rows, and an interval that holds their difference."""

    rows: int
    champion: float
    candidate: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """Candidate less champion."""
        return self.candidate - self.champion


def paired(champion: Sequence[float], candidate: Sequence[float], alpha: float = 0.05) -> Replay:
    """Compare rewards from 0 to 1, row by row."""
    if len(champion) != len(candidate):
        raise InvalidInputError(
            "candidate", f"has {len(candidate)} rewards, the champion {len(champion)}"
        )
    if not champion:
        raise InvalidInputError("champion", "has no rewards")
    one, other = np.asarray(champion, dtype=float), np.asarray(candidate, dtype=float)
    low, high = interval(other - one, -1.0, 1.0, alpha)
    return Replay(len(champion), float(one.mean()), float(other.mean()), low, high)
