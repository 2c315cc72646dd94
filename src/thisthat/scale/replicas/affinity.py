"""Which replica a request goes to: the first in its schema's order that has not too much already.

The order is by rendezvous hashing, so that a replica that comes or goes moves only its own schemas;
what is too much is the bound of consistent hashing with bounded loads (Mirrokni, Thorup and
Zadimoghaddam, 2018). A schema that is asked often therefore spreads, and always to the same ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from hashlib import blake2b

_ABOVE = 1.15
"""What a replica may have, as a multiple of the mean."""
_FREE = 8.0
"""Requests that it may have beyond that, so that the first few do not scatter."""
_HALF_SECONDS = 30.0
_BYTES = 4096
"""Bytes of a body that count as much as a request."""


def cost_of(body: bytes) -> float:
    """How much work a request is, before anybody has read it."""
    return 1.0 + len(body) / _BYTES


class Affinity:
    """Orders replicas for a key; learns from ``add`` which of them had most of the recent work."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._loads: dict[str, float] = {}
        self._at = clock()

    def order(self, key: str, replicas: Sequence[str]) -> list[str]:
        """The replicas, the one to ask first."""
        self._decay()
        loads = {each: self._loads.get(each, 0.0) for each in replicas}
        most = _ABOVE * sum(loads.values()) / max(1, len(loads)) + _FREE
        ranked = sorted(replicas, key=lambda each: _score(key, each))
        return sorted(ranked, key=lambda each: loads[each] > most)

    def add(self, replica: str, cost: float) -> None:
        """Count work that a replica got."""
        self._decay()
        self._loads[replica] = self._loads.get(replica, 0.0) + cost

    def _decay(self) -> None:
        now = self._clock()
        kept = 0.5 ** ((now - self._at) / _HALF_SECONDS)
        self._at = now
        loads = {each: load * kept for each, load in self._loads.items()}
        self._loads = {each: load for each, load in loads.items() if load > 1e-3}


def _score(key: str, replica: str) -> bytes:
    return blake2b(f"{key} {replica}".encode(), digest_size=8).digest()
