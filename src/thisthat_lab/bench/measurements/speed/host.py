"""The host's share of a call about many states with one question each and nothing shared.

Prompts and answers are the host's work everywhere. On CUDA, where it works ahead of the device,
torch's profiler also says how long the device was busy and how long the host only waited for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.engine.protocol import Engine
from thisthat.engine.rows import Row, RowResult
from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.timing.comparison import BOOLEAN
from thisthat_lab.bench.timing.texts import state_of

STATES, QUICK_STATES = 512, 64
TOKENS = 256
CALLS = 7
T = TypeVar("T")
WAITS = ("cudaEventSynchronize", "cudaStreamSynchronize", "cudaDeviceSynchronize")


@dataclass(frozen=True)
class Profiled:
    """Seconds of one call under the profiler."""

    whole: float
    busy: float
    waiting: float


class Watched(Engine):
    """An engine, and the seconds that the caller spent in it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.capabilities = engine.capabilities
        self.seconds = 0.0

    @property
    def description(self) -> str:
        """See Engine."""
        return self._engine.description

    @property
    def longest(self) -> int:
        """See Engine."""
        return self._engine.longest

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        """See Engine."""
        return self._timed(lambda: self._engine.run(rows))

    def begin(self, rows: Sequence[Row]) -> Callable[[], list[RowResult]]:
        """See Engine."""
        results = self._timed(lambda: self._engine.begin(rows))
        return lambda: self._timed(results)

    def _timed(self, call: Callable[[], T]) -> T:
        started = time.perf_counter()
        try:
            return call()
        finally:
            self.seconds += time.perf_counter() - started


def run(context: Context) -> Findings:
    """Ask the same question about other states in every call."""
    decider = context.engine.decider
    count = QUICK_STATES if context.setting.quick else STATES
    rng = Rng("host", context.seed)
    whole: list[float] = []
    outside: list[float] = []
    profiled: Profiled | None = None
    watched = Watched(decider.engine)
    with context.progress("host", CALLS + 2) as advance:

        def call(engine: Engine) -> Callable[[], float]:
            states = [state_of(decider, rng, TOKENS) for _ in range(count)]
            own = decider.reading, decider.source, decider.decode
            asked = Decider(decider.builder, engine, *own, heads=decider.heads)

            def timed() -> float:
                started = time.perf_counter()
                asked.decide_many(states, BOOLEAN)
                return time.perf_counter() - started

            return timed

        call(watched)()  # kernels are loaded, recurring words become known
        advance(1)
        for _ in range(CALLS):
            timed = call(watched)
            watched.seconds = 0.0
            whole.append(timed())
            outside.append(whole[-1] - watched.seconds)
            advance(1)
        if decider.engine.capabilities.on_gpu:
            profiled = profile(call(decider.engine))
        advance(1)
    seconds = float(np.median(whole))
    lines = [
        Line("milliseconds of a call", 1e3 * seconds, unit="number"),
        Line("decisions a second", count / seconds, unit="number"),
        Line(
            "prompts and answers, microseconds a decision",
            1e6 * float(np.median(outside)) / count,
            unit="number",
        ),
    ]
    if profiled is None:
        caveats = ["No CUDA device: how long one would be busy is not known."]
    else:
        working = profiled.whole - profiled.waiting
        lines += [
            Line("profiled: milliseconds of a call", 1e3 * profiled.whole, unit="number"),
            Line("profiled: the device is busy, ms", 1e3 * profiled.busy, unit="number"),
            Line("profiled: the host works, ms", 1e3 * working, unit="number"),
            Line("profiled: the host waits, ms", 1e3 * profiled.waiting, unit="number"),
        ]
        caveats = ["Under the profiler every launch takes the host longer."]
    said = f"{count} states of {TOKENS} tokens a call, one boolean each, new states in every call."
    return Findings(lines, caveats=[said, *caveats])


def profile(call: Callable[[], float]) -> Profiled:
    """One call under torch's profiler, on CUDA."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as watch

    with watch(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        seconds = call()
    events = list(found.events() or ())
    on_device = [event for event in events if event.device_type.name == "CUDA"]
    busy = covered((event.time_range.start, event.time_range.end) for event in on_device)
    waits = [event for event in events if event.name in WAITS]
    waiting = sum(event.time_range.elapsed_us() for event in waits)
    return Profiled(seconds, busy / 1e6, waiting / 1e6)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """How much of a line spans cover together."""
    total = 0.0
    reached = float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
