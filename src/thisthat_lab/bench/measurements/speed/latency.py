"""How long a decision takes on this machine, for stated workloads, and beside other ways to it.

States differ from call to call, so nothing is answered from a cache that a real caller would not
have; the questions stay the same, as they do in a program.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from thisthat.cpus import usable_cores
from thisthat.decide.decider import Decider
from thisthat.decide.opening import open_decider
from thisthat.items import metrics
from thisthat.questions import Boolean, Choice, Question
from thisthat.rng import Rng
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Bar, Line, kernels_of
from thisthat_lab.bench.second_readings import SecondReadings
from thisthat_lab.bench.systems.competitors import COMPETITORS, Absent, Competitor, Listed
from thisthat_lab.bench.timing.beside_onnx import ONNX, BesideOnnx
from thisthat_lab.bench.timing.busy import busy_caveats
from thisthat_lab.bench.timing.comparison import (
    BOOLEAN,
    FOR_VNNI,
    LEFT_OUT,
    QUICK_WORKLOADS,
    VNNI,
    ComparisonResult,
    compare,
)
from thisthat_lab.bench.timing.comparison import WORKLOADS as COMPARED
from thisthat_lab.bench.timing.contest import Limits, TurnJournal
from thisthat_lab.bench.timing.footprint import Footprint, start_up
from thisthat_lab.bench.timing.texts import ticket

TOO_LONG = "longer than this checkpoint reads"
WARM_UP = 2
LEAST_CALLS, QUICK_LEAST_CALLS = 10, 5
MOST_CALLS = 200
SECONDS, QUICK_SECONDS = 8.0, 2.0
LIMITS = Limits(seconds=6, patience=15)
QUICK_LIMITS = Limits(seconds=1, patience=3, least=2)
BESIDE_LIMITS = Limits(seconds=15, patience=40, least=10)

_CHOICE = Choice(
    {"refund": "money back", "replace": "send again", "escalate": "a person", "close": "nothing"},
    "What should happen with this ticket?",
)


@dataclass(frozen=True)
class Workload:
    """So many states per call, so many questions each, so many input tokens per state.

    ``most`` is a bar for the median on two cores with AVX-512 VNNI, in milliseconds.
    """

    name: str
    tokens: int
    questions: int = 1
    states: int = 1
    anchor: str | None = None
    in_quick: bool = True
    most: float | None = None
    boolean: bool = False

    def declared(self) -> dict[str, Question]:
        """The questions of one call: one choice and booleans after it, or one boolean."""
        if self.boolean:
            return dict(BOOLEAN)
        more: dict[str, Question] = {
            f"clause_{n}": Boolean(f"Does clause {n} of the policy apply?")
            for n in range(1, self.questions)
        }
        return {"action": _CHOICE, **more}


WORKLOADS = (
    Workload("1 question, 64 tokens", 64),
    Workload("1 question, 256 tokens", 256, anchor="latency.milliseconds"),
    Workload("1 question, 1,024 tokens", 1024),
    Workload("1 boolean, 80 tokens", 80, most=48, boolean=True),
    Workload("1 boolean, 267 tokens", 267, in_quick=False, most=165, boolean=True),
    Workload("1 boolean, 1,010 tokens", 1010, in_quick=False, most=850, boolean=True),
    Workload("8 questions, 512 tokens", 512, questions=8),
    Workload("batch of 8 states, 256 tokens", 256, states=8, anchor="latency.per_second"),
    Workload("batch of 32 states, 64 tokens", 64, states=32, in_quick=False),
    Workload("batch of 32 states, 256 tokens", 256, states=32, in_quick=False),
)


def run(context: Context) -> Findings:
    """Time our engine alone, then in turns with others, then a fresh process of it.

    A checkpoint too short for a workload leaves it out and says so.
    """
    decider = context.engine.decider
    lines: list[Line] = []
    readings, answers = SecondReadings(decider.engine), 0
    series: dict[str, list[float]] = {}
    caveats = busy_caveats()
    quick = context.setting.quick
    workloads = [workload for workload in WORKLOADS if workload.in_quick or not quick]
    with context.progress("latency", len(workloads)) as advance:
        for workload in workloads:
            if workload.tokens > decider.reading.path_tokens:
                caveats.append(f"{workload.name}: {TOO_LONG}; left out.")
            else:
                timed = _time(decider, workload, quick, context.seed)
                series[workload.name] = [round(value, 3) for value in timed]
                lines += _lines(workload, timed)
                calls = WARM_UP + len(timed)
                answers += calls * workload.states * workload.questions
            advance(1)
    lines += readings.lines(answers)
    beside = _beside_onnx(context)
    compared = _compared(context)
    footprint = _footprint(context) if _on_cpu(context) else Footprint()
    return Findings(
        [*lines, *compared.lines, *footprint.lines],
        timings=[*beside.timings, *compared.timings],
        bars=[*_bars(series, quick), *beside.bars, *compared.bars, *footprint.bars],
        series={"latency": series, "compared": {**beside.turns, **compared.turns}},
        caveats=[*caveats, *beside.caveats, *compared.caveats, *footprint.caveats],
    )


def _bars(series: Mapping[str, Sequence[float]], quick: bool) -> list[Bar]:
    bars = []
    for workload in WORKLOADS:
        if workload.most is None:
            continue
        timed, note = series.get(workload.name), FOR_VNNI
        if timed is None:
            note = LEFT_OUT if quick and not workload.in_quick else TOO_LONG
        middle = None if timed is None else float(np.median(timed))
        label = f"{workload.name}: p50"
        bars.append(Bar(label, middle, workload.most, False, "ms", note, VNNI))
    return bars


def _beside_onnx(context: Context) -> BesideOnnx:
    """Native kernels and onnxruntime in turns, on the booleans; nothing for another engine."""
    decider, setting = context.engine.decider, context.setting
    kernels = kernels_of(decider.engine.description)
    if kernels is None:
        return BesideOnnx()
    ref = "default" if setting.system == "base" else setting.system
    onnx = open_decider(ref, lam=context.engine.identity.lam, engine="onnx", form="int8")
    booleans = [workload for workload in WORKLOADS if workload.boolean]
    journal = _journal(context)
    found = BesideOnnx(caveats=[f"{ONNX}: {onnx.engine.description}."])
    with context.progress("in turns with onnxruntime", len(booleans)) as advance:
        for workload in booleans:
            if workload.tokens <= decider.reading.path_tokens:
                words = words_for(decider, workload, Rng("onnx", context.seed, workload.name))
                found.hold(
                    workload.name,
                    (decider, onnx),
                    workload.declared(),
                    partial(_state, context.seed, workload.name, words),
                    QUICK_LIMITS if setting.quick else BESIDE_LIMITS,
                    journal,
                )
            advance(1)
    return found


def _state(seed: int, name: str, words: int, number: int) -> str:
    return ticket(Rng("onnx", seed, name, number), words)


def _journal(context: Context) -> TurnJournal:
    setting, identity = context.setting, context.engine.identity.as_dict()
    return TurnJournal(setting.out, {**identity, "seed": context.seed, "quick": setting.quick})


def _compared(context: Context) -> ComparisonResult:
    setting = context.setting
    opened, absent = _competitors(context)
    journal = _journal(context)
    workloads = QUICK_WORKLOADS if setting.quick else COMPARED
    with context.progress("in turns with competitors", len(workloads)) as advance:
        found = compare(
            context.engine.decider,
            opened,
            absent,
            journal,
            QUICK_LIMITS if setting.quick else LIMITS,
            context.seed,
            advance,
            workloads,
        )
    journal.finish()
    return found


def _on_cpu(context: Context) -> bool:
    return ", cpu," in context.engine.identity.engine


def _competitors(context: Context) -> tuple[dict[Listed, Competitor], list[Absent]]:
    if not _on_cpu(context):
        reason = f"they run on the CPU, the engine measured is {context.engine.identity.engine}"
        return {}, [Absent(listed, reason) for listed in COMPETITORS]
    from thisthat.checkpoint import open_checkpoint
    from thisthat_lab.bench.systems.competitors import Material, open_competitors

    setting = context.setting
    ref = "default" if setting.system == "base" else setting.system
    checkpoint = open_checkpoint(ref, context.engine.identity.lam)
    return open_competitors(Material(checkpoint, usable_cores()))


def _footprint(context: Context) -> Footprint:
    setting = context.setting
    return start_up(setting.system, setting.options, 1 if setting.quick else 3)


def _lines(workload: Workload, timed: list[float]) -> list[Line]:
    values = np.array(timed)
    middle = metrics.bootstrap_statistic(lambda rows: float(np.median(values[rows])), values.size)
    name = f"{workload.name} (n = {values.size})"
    alone = workload.anchor if workload.states == 1 else None
    rate = workload.states * workload.questions / (middle.value / 1000)
    return [
        Line.of(f"{name}: p50", middle, alone, "ms"),
        Line(f"{name}: p90", float(np.percentile(values, 90)), unit="ms"),
        Line(f"{name}: p99", float(np.percentile(values, 99)), unit="ms"),
        Line(
            f"{workload.name}: decisions per second",
            rate,
            unit="number",
            anchor=None if alone else workload.anchor,
        ),
    ]


def _time(decider: Decider, workload: Workload, quick: bool, seed: int) -> list[float]:
    rng = Rng("latency", seed, workload.name)
    questions = workload.declared()
    words = words_for(decider, workload, rng)
    budget = QUICK_SECONDS if quick else SECONDS
    least = WARM_UP + (QUICK_LEAST_CALLS if quick else LEAST_CALLS)
    timed: list[float] = []
    started = time.perf_counter()
    while len(timed) < MOST_CALLS + WARM_UP:
        states = [ticket(rng, words) for _ in range(workload.states)]
        before = time.perf_counter()
        decider.decide_many(states, questions)
        timed.append((time.perf_counter() - before) * 1000)
        if time.perf_counter() - started > budget and len(timed) >= least:
            break
    return timed[WARM_UP:]


def words_for(decider: Decider, workload: Workload, rng: Rng) -> int:
    """How many words bring a state with these questions closest to the workload's tokens."""
    questions = list(workload.declared().values())

    def tokens(words: int) -> int:
        rendered = decider.builder.render(
            ticket(rng, words),
            questions,
            layout=decider.reading.layout,
            packing="apart",
            limit=decider.reading.path_tokens * 4,
            state_limit=decider.reading.path_tokens * 4,
        )
        return rendered.tokens

    low, high = 1, workload.tokens
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(middle) <= workload.tokens else (low, middle - 1)
    return low
