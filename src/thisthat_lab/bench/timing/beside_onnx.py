"""The native kernels and onnxruntime on the same checkpoint and form, in turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.questions import Question
from thisthat_lab.bench.result import Bar, Timing
from thisthat_lab.bench.timing.comparison import OURS, ask_ours, timing_of
from thisthat_lab.bench.timing.contest import Entry, Limits, TurnJournal, hold

ONNX = "(o) our onnx engine, int8"
LEAST_RATIO = 1.2
"""How many times as long onnxruntime has to take where there is AVX2 alone."""
AVX2, FOR_AVX2 = "avx2", "set for AVX2 alone"


@dataclass(frozen=True)
class BesideOnnx:
    """What was found, a workload at a time."""

    timings: list[Timing] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    turns: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def hold(
        self,
        name: str,
        deciders: tuple[Decider, Decider],
        questions: Mapping[str, Question],
        state: Callable[[int], str],
        limits: Limits,
        journal: TurnJournal,
    ) -> None:
        """Time one workload on the native decider and the one on onnxruntime."""
        entries = [
            Entry(label, partial(ask_ours, decider, questions, {}))
            for label, decider in zip((OURS, ONNX), deciders, strict=True)
        ]
        states = lru_cache(limits.most)(state)
        held = hold(name, entries, states, limits, journal, states=10**9, warm_up=state(-1))
        self.turns[name] = {
            label: [turn.milliseconds for turn in turns] for label, turns in held.items()
        }
        ours = float(np.median(self.turns[name][OURS]))
        for label, turns in held.items():
            agreement = sum(turn.same for turn in turns), sum(turn.compared for turn in turns)
            first = None if label == OURS else ours
            taken = self.turns[name][label]
            self.timings.append(timing_of(name, label, "call", taken, first, agreement))
        ratio = float(np.median(self.turns[name][ONNX])) / ours
        self.bars.append(Bar(f"{name}: (o)/(a)", ratio, LEAST_RATIO, True, "ratio", FOR_AVX2, AVX2))
