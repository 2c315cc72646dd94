"""What a CUDA device makes of our engine: fused kernels in graphs, and in turns with them the same
kernels without graphs, plain `transformers`, and products in float8; every time is end to end from
text.

Each model has a process of its own. What fails is reported and the rest still runs, in a fresh
process when the device itself was left unusable.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.decide.options import DecideKeywords
from thisthat.errors import InvalidInputError, MissingExtraError
from thisthat.questions import Boolean, Question
from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Bar, Line, Timing
from thisthat_lab.bench.systems.protocol import Identity
from thisthat_lab.bench.timing.comparison import BOOLEAN, INTENTS, TRIAGE, ask_ours, timing_of
from thisthat_lab.bench.timing.contest import Chosen
from thisthat_lab.bench.timing.gpu_growth import Grown, measure_growth
from thisthat_lab.bench.timing.gpu_names import FLOAT8, GRAPHS, LARGE, SMALL
from thisthat_lab.bench.timing.texts import state_of

if TYPE_CHECKING:
    from thisthat_lab.bench.timing.gpu_variants import Opened

BOOLEANS: dict[str, Question] = {
    **BOOLEAN,
    "late": Boolean("Is the parcel late?"),
    "twice": Boolean("Was the card charged twice?"),
    "photo": Boolean("Is a photo attached?"),
}
SECONDS, QUICK_SECONDS = 1.5, 0.3
LEAST_CALLS, MOST_CALLS = 3, 60
WARM_UPS = 3
COUNTERS = (
    "captures_at_start",
    "captures_after_start",
    "compiles_after_start",
    "eager_rows_outside_grid",
)
BURST = 5
"""Calls of one way after another before the next way's turn."""
POOL = 32
"""Calls after which states come round again."""


@dataclass(frozen=True, eq=False)
class Work:
    """So many states a call; ``whole``: the tokens are those of a state with its question."""

    name: str
    shape: str
    tokens: int
    questions: Mapping[str, Question]
    states: int = 1
    whole: bool = False
    ways: DecideKeywords = field(default_factory=lambda: DecideKeywords(layout="state-first"))
    most_milliseconds: float | None = None
    least_decisions: float | None = None
    least_in_float8: float | None = None
    """Decisions per second of the float8 way."""
    slower: str | None = None
    """The work of the same shape that this one is to be ``LEAST_GAIN`` times as fast as."""

    @property
    def decisions(self) -> int:
        """Answers of one call."""
        return self.states * len(self.questions)

    def rate(self, milliseconds: float | None) -> float | None:
        """Decisions per second of calls that take so long."""
        return self.decisions / (milliseconds / 1000) if milliseconds else None


KEPT = DecideKeywords(layout="schema-first", packing="together")
LEAST_GAIN = 4.0
READ_EACH_TIME = "32 × 64 tokens, a schema of 512 read with each"
WORKS = (
    Work("1 × 256 tokens, one question", LARGE, 256, BOOLEAN, whole=True, most_milliseconds=2.9),
    Work("4 questions on a 256-token state", LARGE, 256, TRIAGE, most_milliseconds=4.5),
    Work("4 booleans on a 256-token state", LARGE, 256, BOOLEANS),
    Work(
        "32 × 256 tokens, one question each",
        LARGE,
        256,
        BOOLEAN,
        states=32,
        whole=True,
        least_decisions=600,
        least_in_float8=950,
    ),
    Work("a state of 32,768 tokens", LARGE, 32_768, BOOLEAN),
    Work(
        "1 × 64 tokens, a schema of 512 kept", LARGE, 64, INTENTS, ways=KEPT, most_milliseconds=2.4
    ),
    Work(READ_EACH_TIME, LARGE, 64, INTENTS, states=32),
    Work(
        "32 × 64 tokens, a schema of 512 kept",
        LARGE,
        64,
        INTENTS,
        states=32,
        ways=KEPT,
        slower=READ_EACH_TIME,
    ),
    Work("1 × 256 tokens, one question", SMALL, 256, BOOLEAN, whole=True, most_milliseconds=1.5),
    Work("512 states of 256 tokens, 4 questions each", SMALL, 256, TRIAGE, states=512),
    Work(
        "512 states of 256 tokens, 4 questions each, schema first",
        SMALL,
        256,
        TRIAGE,
        states=512,
        ways=KEPT,
        least_decisions=15_000,
    ),
    Work("256 × 256 tokens, one question each", SMALL, 256, BOOLEAN, states=256, whole=True),
)


@dataclass
class Found:
    """What one way did with one work; ``failure`` is why it stopped, if it did."""

    milliseconds: list[float] = field(default_factory=list)
    chosen: list[list[Chosen]] = field(default_factory=list)
    peak_bytes: int | None = None
    failure: str | None = None


@dataclass
class Report:
    """What a process found out about one shape: by the work's name, by way."""

    found: dict[str, dict[str, Found]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    engine: str = ""
    grown: Grown = field(default_factory=Grown)
    failure: str | None = None


def run(context: Context) -> Findings:
    """Raises MissingExtraError without torch, InvalidInputError without a CUDA device."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("bench gpu", "torch") from error
    if not torch.cuda.is_available():
        raise InvalidInputError(
            "device", f"bench gpu needs CUDA, and torch {torch.__version__} sees no such device"
        )
    seconds = QUICK_SECONDS if context.setting.quick else SECONDS
    reports: dict[str, Report] = {}
    with context.progress("gpu", len(WORKS)) as advance:
        for shape in (LARGE, SMALL):
            names = [work.name for work in WORKS if work.shape == shape]
            ask = partial(in_a_process, shape, seed=context.seed, seconds=seconds)
            reports[shape] = all_of(names, ask)
            advance(len(names))
    return findings_of(reports, torch.cuda.get_device_name(0))


def all_of(names: Sequence[str], ask: Callable[[Sequence[str]], Report]) -> Report:
    """Ask for all works; what an unusable device left undone is asked for again, once each."""
    whole = Report()
    left = list(names)
    while left:
        report = ask(left)
        whole.found |= report.found
        whole.seconds = whole.seconds or report.seconds
        whole.engine = whole.engine or report.engine
        whole.grown = whole.grown if whole.grown.points else report.grown
        for name, count in report.counters.items():
            whole.counters[name] = whole.counters.get(name, 0) + count
        if not report.found:
            failed = Found(failure=report.failure or "nothing came back")
            whole.found |= {name: {"": failed} for name in left}
            whole.failure = failed.failure
        left = [name for name in left if name not in whole.found]
    return whole


def in_a_process(shape: str, names: Sequence[str], *, seed: int, seconds: float) -> Report:
    """The report of a fresh process; one that ends before its time is a report of that."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(measure_shape, shape, tuple(names), seed, seconds).result()
        except BrokenProcessPool as error:
            return Report(failure=f"the process ended: {error}")


def measure_shape(shape: str, names: Sequence[str], seed: int, seconds: float) -> Report:
    """Open the shape in every way and do these works, until the device fails or all are done.

    How time grows is measured after them, of the large shape alone.
    """
    import torch

    from thisthat_lab.bench.timing.gpu_variants import in_a_line, open_variants

    report = Report()
    try:
        ways = open_variants(shape, torch.device("cuda"))
    except Exception as error:  # the other shape is still to be measured
        report.failure = in_a_line(error)
        return report
    report.seconds = ways.seconds
    for work in WORKS:
        if work.shape == shape and work.name in names:
            report.found[work.name] = do_work(work, ways, seed, seconds)
            _tell(work, report.found[work.name])
            try:
                torch.cuda.synchronize()
                torch.cuda.empty_cache()
            except RuntimeError as error:
                report.failure = in_a_line(error)
                break
    if shape == LARGE and GRAPHS in ways.deciders and report.failure is None:
        report.grown = measure_growth(ways.deciders[GRAPHS], seed, seconds)
    if GRAPHS in ways.deciders:
        engine: Any = ways.deciders[GRAPHS].engine
        report.engine = engine.description
        counts = engine.statistics
        for name in COUNTERS:
            report.counters[name] = int(getattr(counts, name))
    return report


def _tell(work: Work, found: Mapping[str, Found]) -> None:
    """One line as soon as a work is done, in case the rest is never seen."""
    told = [
        f"{way} {each.failure or f'{np.median(each.milliseconds):.2f} ms'}"
        for way, each in found.items()
    ]
    print(f"{work.shape}: {work.name}: {', '.join(told)}", file=sys.stderr, flush=True)


def do_work(work: Work, ways: Opened, seed: int, seconds: float) -> dict[str, Found]:
    """The ways in turns, each for so many seconds; one that fails has no further turn."""
    found = {way: Found(failure=reason) for way, reason in ways.absent.items()}
    if not ways.deciders:
        return found
    any_decider = next(iter(ways.deciders.values()))
    try:
        calls = calls_of(work, any_decider, seed)
    except InvalidInputError as error:
        return found | {way: Found(failure=str(error)) for way in ways.deciders}
    waiting = dict(ways.deciders)
    found |= {way: Found() for way in waiting}
    for way, decider in ways.deciders.items():
        if not _turn(work, decider, calls[:WARM_UPS], Found(), found[way]):
            del waiting[way]
    while waiting:
        for way, decider in list(waiting.items()):
            mine = found[way]
            done = len(mine.milliseconds)
            burst = [calls[number % len(calls)] for number in range(done, done + BURST)]
            fine = _turn(work, decider, burst, mine, mine)
            used = sum(mine.milliseconds) / 1000
            enough = used >= seconds and len(mine.milliseconds) >= LEAST_CALLS
            if not fine or enough or len(mine.milliseconds) >= MOST_CALLS:
                del waiting[way]
    return found


def _turn(
    work: Work, decider: Decider, calls: Sequence[Sequence[str]], into: Found, told: Found
) -> bool:
    """Some calls, timed into ``into``; a failure is told, and False."""
    from thisthat_lab.bench.timing.gpu_variants import in_a_line

    _reset_peak()
    started = time.perf_counter()
    try:
        for states in calls:
            before = time.perf_counter()
            chosen = ask_ours(decider, work.questions, work.ways, states)
            into.milliseconds.append((time.perf_counter() - before) * 1000)
            into.chosen.append(chosen)
            if time.perf_counter() - started > 2.0:
                break
    except Exception as error:  # a way that fails must not take the others with it
        told.failure = in_a_line(error)
        return False
    into.peak_bytes = max(into.peak_bytes or 0, _peak())
    return True


def calls_of(work: Work, decider: Decider, seed: int) -> list[list[str]]:
    """The states of so many calls, none longer than the work says."""
    rng = Rng("gpu", seed, work.shape, work.name)
    tokens = work.tokens
    if work.whole:
        probe = state_of(decider, rng, tokens)
        job = decider.prepare(probe, work.questions, layout=work.ways["layout"])
        tokens -= job.rendered.tokens - len(decider.builder.encode_state(probe))
    several = 4 if work.states > 1 or work.tokens > 4096 else POOL
    made = iter(state_of(decider, rng, tokens) for _ in itertools.count())
    return [list(itertools.islice(made, work.states)) for _ in range(several)]


def _reset_peak() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def _peak() -> int:
    import torch

    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0


def findings_of(reports: Mapping[str, Report], device: str) -> Findings:
    """Lines, bars and timings of what the processes found."""
    lines: list[Line] = []
    timings: list[Timing] = []
    bars: list[Bar] = []
    caveats = [_fla_caveat()]
    for work in WORKS:
        name = f"{work.shape}: {work.name}"
        found = reports[work.shape].found.get(work.name, {})
        timings += _timings(name, found)
        for way, each in found.items():
            if each.failure is not None:
                caveats.append(f"{name}, {way or 'all ways'}: failed. {each.failure}.")
            if work.tokens > 4096 and each.peak_bytes:
                told = f"{name}, {way}: gigabytes at the peak, weights of all ways included"
                lines.append(Line(told, each.peak_bytes / 1e9, unit="number"))
        ours = _way(found, GRAPHS)
        middle = _median(ours)
        lines.append(Line(f"{name}: p50", middle, unit="ms"))
        note = ours.failure or _elsewhere(device)
        if work.most_milliseconds is not None:
            bars.append(Bar(f"{name}: p50", middle, work.most_milliseconds, False, "ms", note))
        label, rate = f"{name}: decisions per second", work.rate(middle)
        if work.states > 1:
            lines.append(Line(label, rate, unit="number"))
        if work.least_decisions is not None:
            bars.append(Bar(label, rate, work.least_decisions, True, note=note))
        if work.least_in_float8 is not None:
            other = _way(found, FLOAT8)
            label, rate = f"{label}, products in float8", work.rate(_median(other))
            lines.append(Line(label, rate, unit="number"))
            told = other.failure or _elsewhere(device)
            bars.append(Bar(label, rate, work.least_in_float8, True, note=told))
        if work.slower is not None:
            longer = _median(reports[work.shape].found.get(work.slower, {}).get(GRAPHS, Found()))
            gain = longer / middle if longer and middle else None
            label = f"{name}: times the decisions per second of reading it"
            bars.append(Bar(label, gain, LEAST_GAIN, True, note=note))
    for shape, report in reports.items():
        lines += [
            Line(f"{shape}, start: seconds for {what}", taken, unit="number")
            for what, taken in report.seconds.items()
        ]
        late = report.counters.get("captures_after_start")
        note = "" if late is not None else report.failure or "graphs did not open"
        bars.append(Bar(f"{shape}: captures after the start", late, 0, False, note=note))
        for counter, count in report.counters.items():
            lines.append(Line(f"{shape}: {counter.replace('_', ' ')}", count, unit="number"))
        if report.engine:
            caveats.append(f"{shape}: {report.engine}.")
    grown = reports[LARGE].grown
    lines += grown.lines
    caveats += grown.caveats
    series = {
        f"{shape}: {work}": {way: _rounded(each.milliseconds) for way, each in by.items()}
        for shape, report in reports.items()
        for work, by in report.found.items()
    }
    system = Identity(f"{LARGE}, {SMALL}", "engine", engine=f"torch, {device}, bfloat16")
    return Findings(
        lines,
        timings=timings,
        bars=bars,
        series={"gpu": series, "growth": grown.series},
        caveats=caveats,
        system=system,
    )


def _way(found: Mapping[str, Found], way: str) -> Found:
    """What a way did; where none did anything, why."""
    return found.get(way, Found(failure=next(iter(found.values()), Found()).failure))


def _median(found: Found) -> float | None:
    return float(np.median(found.milliseconds)) if found.milliseconds else None


def _elsewhere(device: str) -> str:
    """What a bar has to say of a device that it was not set for."""
    return "" if "H200" in device else f"set for an H200, this is {device}"


def _timings(name: str, found: Mapping[str, Found]) -> list[Timing]:
    timings: list[Timing] = []
    first: Found | None = None
    for way, each in found.items():
        if not each.milliseconds:
            continue
        first = first or each
        pairs = [
            (one[question], other[question])
            for mine, theirs in zip(each.chosen, first.chosen, strict=False)
            for one, other in zip(mine, theirs, strict=True)
            for question in one
        ]
        same = sum(one == other for one, other in pairs)
        middle = timings[0].p50 if timings else None
        timings.append(timing_of(name, way, "call", each.milliseconds, middle, (same, len(pairs))))
    return timings


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _fla_caveat() -> str:
    from importlib.util import find_spec

    if find_spec("fla") is None:
        return "flash-linear-attention is not installed: (c) runs its delta rule in plain torch."
    return "flash-linear-attention is installed, and (c) uses it."
