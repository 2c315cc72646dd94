"""How many of the decisions that an evaluation replays taught the candidate before."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

from thisthat.teach.known import Label, last_taught, share_of


@dataclass(frozen=True, slots=True)
class TaughtOn:
    """So many of the replayed decisions taught the candidate; ``since`` is when they end.

    ``later`` are those from then on. The number is an estimate where more labels taught than the
    candidate's card has hashes of.
    """

    decisions: int
    replayed: int
    since: str
    later: int

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    def told(self, name: str) -> str:
        """What is wrong with the comparison, and what to do."""
        return (
            f"{self.decisions} of these {self.replayed} decisions taught {name}, which knows their "
            f"answers; --since {self.since} leaves them out and keeps {self.later}"
        )


def taught_on(
    labels: Iterable[tuple[float, Label]], ref: str, lam: float | None
) -> TaughtOn | None:
    """Which replayed decisions, by their time, taught a checkpoint; None where none did."""
    ordered = sorted(labels, key=lambda each: each[0])
    known = [label for _, label in ordered]
    last = last_taught(ref, lam, known)
    if last is None:
        return None
    since = math.floor(ordered[last][0]) + 1
    date = datetime.fromtimestamp(since, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    decisions = max(1, round(share_of(ref, lam, known) * len(known)))
    return TaughtOn(decisions, len(known), date, sum(at >= since for at, _ in ordered))
