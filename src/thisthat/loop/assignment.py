"""Which arm answers a key: sticky, known in advance, and growing with the share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from thisthat.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Assignment:
    """The number of the canary that answers (None: the champion), and the chance it had.

    ``shares`` are the chances of each canary against the champion alone: among the keys that one
    of the two answers, by which they are compared.
    """

    canary: int | None
    propensity: float
    shares: tuple[float, ...]


def place(key: str, salt: str) -> float:
    """A number in [0, 1) that depends on key and salt alone."""
    digest = hashlib.sha256(f"{salt}\0{key}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


def assign(key: str, canaries: Sequence[tuple[str, float]]) -> Assignment:
    """The arm of ``key`` among canaries, each with its salt and its share of what is left.

    Canaries take their keys in order, the champion has the rest. A key that a canary answers at
    one share it answers at every larger one, unless a canary before it takes it.
    """
    for _, share in canaries:
        if not 0.0 <= share <= 1.0:
            raise InvalidInputError("share", f"must be from 0 to 1, not {share:g}")
    chosen, left, chances = None, 1.0, []
    for number, (salt, share) in enumerate(canaries):
        chances.append(left * share)
        left *= 1.0 - share
        if chosen is None and place(key, salt) < share:
            chosen = number
    shares = tuple(
        share / (share + math.prod(1.0 - other for _, other in canaries[number:])) if share else 0.0
        for number, (_, share) in enumerate(canaries)
    )
    return Assignment(chosen, left if chosen is None else chances[chosen], shares)
