"""What all replicas answer with: a change is prepared by every one of them, or made by none.

Replicas report a few times a second and are told what to do; one that is silent is gone. What it
was told is what it reports, so a conductor that starts anew learns where the replicas are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

BEAT_SECONDS = 0.2
_GONE_SECONDS = 10.0
_PREPARE_SECONDS = 600.0


@dataclass(frozen=True)
class Serving:
    """A checkpoint and its λ; every change has a higher ``number``."""

    number: int
    ref: str
    lam: float | None


@dataclass(frozen=True)
class ReplicasReport:
    """What a replica answers with, what it has ready or why not, and its metrics."""

    serving: Serving | None = None
    prepared: int | None = None
    failed: tuple[int, str] | None = None
    metrics: bytes = b""


@dataclass(frozen=True)
class Orders:
    """What replicas are to answer with, and what they are to make ready beside it."""

    serving: Serving
    proposed: Serving | None


@dataclass(frozen=True)
class Reloaded:
    """How a reload ended: on so many ``replicas``, or on none for a reason."""

    replicas: int
    failure: str | None = None


@dataclass
class Conductor:
    """Keeps what is served and the last report of every replica."""

    ref: str
    lam: float | None
    clock: Callable[[], float] = time.monotonic
    gone_seconds: float = _GONE_SECONDS
    prepare_seconds: float = _PREPARE_SECONDS
    _reports: dict[str, tuple[float, ReplicasReport]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._orders = Orders(Serving(1, self.ref, self.lam), None)
        self._last = 1
        self._reloading = asyncio.Lock()

    async def beat(self, replica: str, report: ReplicasReport) -> Orders:
        """Take a replica's report; returns its orders."""
        self._reports[replica] = self.clock(), report
        if report.serving is not None and report.serving.number > self._orders.serving.number:
            self._orders = Orders(report.serving, None)
        return self._orders

    async def leave(self, replica: str) -> None:
        """Forget a replica that stops."""
        self._reports.pop(replica, None)

    async def pages(self) -> dict[str, bytes]:
        """The metrics of every replica."""
        return {replica: report.metrics for replica, report in self._live().items()}

    async def reload(self, ref: str, lam: float | None) -> Reloaded:
        """Make all replicas answer with another checkpoint or λ, or none of them."""
        async with self._reloading:
            serving = self._orders.serving
            # Never a number twice: a replica may still be at work on one that was given up.
            self._last = max(self._last, serving.number) + 1
            proposed = Serving(self._last, ref, lam)
            self._orders = Orders(serving, proposed)
            failure = await self._prepared(proposed.number)
            if failure is not None:
                self._orders = Orders(serving, None)
                return Reloaded(0, failure)
            self._orders = Orders(proposed, None)
            while not all(each.serving == proposed for each in self._live().values()):
                await asyncio.sleep(BEAT_SECONDS / 4)
            return Reloaded(len(self._live()))

    async def _prepared(self, number: int) -> str | None:
        """Wait for every replica to have it ready; why one cannot, otherwise."""
        until = self.clock() + self.prepare_seconds
        while True:
            live = self._live()
            for replica, report in live.items():
                if report.failed is not None and report.failed[0] == number:
                    return f"replica {replica}: {report.failed[1]}"
            if live and all(report.prepared == number for report in live.values()):
                return None
            if self.clock() > until:
                late = [each for each, report in live.items() if report.prepared != number]
                who = ", ".join(late) or "no replica reports"
                return f"not ready within {self.prepare_seconds:g} seconds: {who}"
            await asyncio.sleep(BEAT_SECONDS / 4)

    def _live(self) -> dict[str, ReplicasReport]:
        since = self.clock() - self.gone_seconds
        self._reports = {each: at for each, at in self._reports.items() if at[0] >= since}
        return {replica: report for replica, (_, report) in self._reports.items()}
