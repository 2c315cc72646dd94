"""How long a decision takes in this process on this machine, for stated workloads.

States differ from call to call, so nothing is answered from a cache that a real caller would not
have; the questions stay the same, as they do in a program.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from thisthat.bench import metrics
from thisthat.bench.measure import Context, Findings, Measurement
from thisthat.bench.result import Line
from thisthat.decider import Decider
from thisthat.questions import Boolean, Choice, Question
from thisthat.random import Rng

WARM_UP = 2
LEAST_CALLS, QUICK_LEAST_CALLS = 10, 5
MOST_CALLS = 200
SECONDS, QUICK_SECONDS = 30.0, 8.0

_TEXT = (
    "order invoice refund customer delivery late parcel account charged twice card support agent "
    "replied monday address changed before shipping warehouse confirmed stock item returned box "
    "opened photo attached policy thirty days receipt total amount currency email phone verified"
)
_CHOICE = Choice(
    {"refund": "money back", "replace": "send again", "escalate": "a person", "close": "nothing"},
    "What should happen with this ticket?",
)


@dataclass(frozen=True)
class Workload:
    """So many states per call, so many questions each, so many input tokens per state."""

    name: str
    tokens: int
    questions: int = 1
    states: int = 1
    anchor: str | None = None
    in_quick: bool = True

    def declared(self) -> dict[str, Question]:
        """The questions of one call: one choice, and booleans after it."""
        more: dict[str, Question] = {
            f"clause_{n}": Boolean(f"Does clause {n} of the policy apply?")
            for n in range(1, self.questions)
        }
        return {"action": _CHOICE, **more}


WORKLOADS = (
    Workload("1 question, 64 tokens", 64),
    Workload("1 question, 256 tokens", 256, anchor="latency.milliseconds"),
    Workload("1 question, 1,024 tokens", 1024),
    Workload("8 questions, 512 tokens", 512, questions=8),
    Workload("batch of 8 states, 256 tokens", 256, states=8, anchor="latency.per_second"),
    Workload("batch of 32 states, 256 tokens", 256, states=32, in_quick=False),
)
CAVEATS = (
    "Measured in one process, one call after another, on the machine named below; the paper's "
    "30.9 ms are a 1.88 B model on a laptop GPU.",
    "Tokens are all input tokens of a state with its questions.",
)


def run(context: Context) -> Findings:
    """Time every workload; a checkpoint too short for one leaves it out and says so."""
    decider = context.engine.decider
    lines: list[Line] = []
    series: dict[str, list[float]] = {}
    caveats = list(CAVEATS)
    quick = context.setting.quick
    workloads = [workload for workload in WORKLOADS if workload.in_quick or not quick]
    with context.progress("latency", len(workloads)) as advance:
        for workload in workloads:
            if workload.tokens > decider.reading.path_tokens:
                caveats.append(f"{workload.name}: longer than this checkpoint reads; left out.")
            else:
                timed = _time(decider, workload, quick, context.setting.seed)
                series[workload.name] = [round(value, 3) for value in timed]
                lines += _lines(workload, timed)
            advance(1)
    return Findings(lines, series={"latency": series}, caveats=caveats)


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
        states = [random_state(rng, words) for _ in range(workload.states)]
        before = time.perf_counter()
        decider.decide_many(states, questions)
        timed.append((time.perf_counter() - before) * 1000)
        if time.perf_counter() - started > budget and len(timed) >= least:
            break
    return timed[WARM_UP:]


def random_state(rng: Rng, words: int) -> str:
    """So many words of an order's history, in no order."""
    known = _TEXT.split()
    return " ".join(rng.choice(known) for _ in range(words))


def words_for(decider: Decider, workload: Workload, rng: Rng) -> int:
    """How many words bring a state with these questions closest to the workload's tokens."""
    questions = list(workload.declared().values())

    def tokens(words: int) -> int:
        rendered = decider.builder.render(
            random_state(rng, words),
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


MEASUREMENT = Measurement(
    "latency", "Latency in this process", run, engines_only=True, has_subset=False
)
