"""Which arm answers a key: sticky, known in advance, and growing with the share."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from thisthat.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Assignment:
    """The arm that answers, and the chance it had."""

    candidate: bool
    propensity: float


def place(key: str, salt: str) -> float:
    """A number in [0, 1) that depends on key and salt alone."""
    digest = hashlib.sha256(f"{salt}\0{key}".encode()).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


def assign(key: str, salt: str, share: float) -> Assignment:
    """The arm of ``key`` when the candidate gets ``share`` of the keys.

    A key that the candidate answers at one share it answers at every larger one.
    """
    if not 0.0 <= share <= 1.0:
        raise InvalidInputError("share", f"must be from 0 to 1, not {share:g}")
    candidate = place(key, salt) < share
    return Assignment(candidate, share if candidate else 1.0 - share)
