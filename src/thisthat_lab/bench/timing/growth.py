"""How time grows: with the state, the questions, the options, the states under one schema.

Beside every measured time stand the tokens that the paper's formula counts for it: |S| + Σ|q| + N
for one pass; for m states |P| + m(|S| + N) when the schema comes first and m(|P| + |S| + N) when
the state does.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np

from thisthat.decide.decider import Decider
from thisthat.decide.options import DecideKeywords
from thisthat.prompt_format import Layout
from thisthat.questions import Boolean, Choice, Question
from thisthat.rng import Rng
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.timing.comparison import BOOLEAN, ask_ours
from thisthat_lab.bench.timing.contest import Entry, Limits, Turn, TurnJournal, hold
from thisthat_lab.bench.timing.texts import state_of

STATE_TOKENS = (64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
QUESTIONS = (1, 2, 4, 8, 16, 32, 64)
OPTIONS = (2, 4, 8, 16, 32, 64, 128, 255)
STATES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
QUESTION_STATE_TOKENS, OPTION_STATE_TOKENS, MANY_STATE_TOKENS = 256, 64, 32
MANY_OPTIONS = 64
CHUNK = 50
STATE_FIRST, SCHEMA_FIRST = "state first", "questions first, warm"
ONE_PASS = "one pass for all"
AXES = {
    "state": "tokens of the state",
    "questions": "questions about one state",
    "options": "options of one choice",
    "states": "states under one schema",
}
CAVEATS = (
    "Growth: every place on an axis is the median of several calls with states of their own. The "
    "formula counts tokens; one constant per panel turns them into milliseconds.",
    f"States have {QUESTION_STATE_TOKENS} tokens where questions are added, "
    f"{OPTION_STATE_TOKENS} where options are, {MANY_STATE_TOKENS} (and "
    f"{MANY_OPTIONS} options) where states are.",
)

Curves: TypeAlias = dict[str, tuple[Mapping[str, Question], Layout]]
"""By name of the curve: what is asked, in which layout."""


@dataclass(frozen=True)
class Spending:
    """How long one point may take, and in all how long the states under one schema."""

    limits: Limits
    seconds_of_states: float


SPENDING = Spending(Limits(seconds=3, patience=6, least=3, most=30), 75)
QUICK_SPENDING = Spending(Limits(seconds=0.5, patience=1, least=2, most=10), 6)


@dataclass(frozen=True)
class Point:
    """One measured time, and the tokens of the formula."""

    axis: str
    curve: str
    x: int
    tokens: float
    milliseconds: float
    low: float
    high: float
    calls: int


def steps() -> int:
    """How many steps ``measure`` reports."""
    return len(STATE_TOKENS) + len(QUESTIONS) + len(OPTIONS) + len(STATES)


def measure(
    decider: Decider,
    journal: TurnJournal,
    spending: Spending,
    seed: int,
    advance: Callable[[int], None],
) -> tuple[list[Point], list[str]]:
    """Points of all four axes, and a caveat for each place where one stops early."""
    asking = _Asking(decider, journal, spending, seed, advance)
    points: list[Point] = []
    caveats: list[str] = []
    for axis in (asking.states_lengths, asking.question_counts, asking.option_counts):
        points += axis(caveats)
    points += asking.state_counts(caveats)
    return points, caveats


class _Asking:
    def __init__(
        self,
        decider: Decider,
        journal: TurnJournal,
        spending: Spending,
        seed: int,
        advance: Callable[[int], None],
    ) -> None:
        self._decider = decider
        self._journal = journal
        self._spending = spending
        self._seed = seed
        self._advance = advance

    def states_lengths(self, caveats: list[str]) -> Iterator[Point]:
        longest = self._decider.reading.state_tokens
        for size in STATE_TOKENS:
            if size <= longest:
                yield from self._at("state", size, size, {STATE_FIRST: (BOOLEAN, "state-first")})
            self._advance(1)
        if longest < STATE_TOKENS[-1]:
            last = max((size for size in STATE_TOKENS if size <= longest), default=0)
            caveats.append(
                f"State length stops at {last:,} tokens: this checkpoint reads states of at most "
                f"{longest:,}."
            )

    def question_counts(self, caveats: list[str]) -> Iterator[Point]:
        for count in QUESTIONS:
            questions: dict[str, Question] = {
                f"clause_{n}": Boolean(f"Does clause {n} of the policy apply?")
                for n in range(count)
            }
            entry: Curves = {ONE_PASS: (questions, "state-first")}
            yield from self._at("questions", count, QUESTION_STATE_TOKENS, entry)
            self._advance(1)

    def option_counts(self, caveats: list[str]) -> Iterator[Point]:
        for count in OPTIONS:
            asked = _choice(count, "Which shelf is meant?")
            entries: Curves = {
                STATE_FIRST: (asked, "state-first"),
                SCHEMA_FIRST: (asked, "schema-first"),
            }
            yield from self._at("options", count, OPTION_STATE_TOKENS, entries)
            self._advance(1)

    def state_counts(self, caveats: list[str]) -> list[Point]:
        asked = _choice(MANY_OPTIONS, "On which shelf does this order lie?")
        make = lru_cache(CHUNK)(partial(self._state, "states", MANY_STATE_TOKENS))
        left: dict[str, Layout] = {SCHEMA_FIRST: "schema-first", STATE_FIRST: "state-first"}
        points: list[Point] = []
        for count in STATES:
            for curve, layout in list(left.items()):
                turns = self._journal.of("growth: states", curve)
                while sum(turn.states for turn in turns) < count:
                    done = sum(turn.states for turn in turns)
                    numbers = range(done, min(count, done + CHUNK))
                    self._timed(curve, asked, layout, [make(number) for number in numbers])
                points.append(self._sum(curve, asked, layout, turns, count))
                if points[-1].milliseconds > self._spending.seconds_of_states * 1000:
                    del left[curve]
                    if count < STATES[-1]:
                        caveats.append(
                            f"States under one schema, {curve}: stops at {count:,}, which took "
                            f"{points[-1].milliseconds / 1000:.0f} s."
                        )
            self._advance(1)
        return sorted(points, key=lambda point: (point.curve, point.x))

    def _timed(
        self, curve: str, asked: Mapping[str, Question], layout: Layout, given: Sequence[str]
    ) -> None:
        started = time.perf_counter()
        ask_ours(self._decider, asked, {"layout": layout}, given)
        taken = (time.perf_counter() - started) * 1000
        self._journal.add("growth: states", curve, Turn(round(taken, 3), len(given)))

    def _sum(
        self,
        curve: str,
        asked: Mapping[str, Question],
        layout: Layout,
        turns: Sequence[Turn],
        count: int,
    ) -> Point:
        ends = np.cumsum([turn.states for turn in turns])
        taken = np.cumsum([turn.milliseconds for turn in turns])
        total = float(taken[int(np.searchsorted(ends, count))])
        prefix, fresh = self._tokens(asked, layout, MANY_STATE_TOKENS)
        tokens = prefix + count * fresh
        return Point("states", curve, count, tokens, total, total, total, count)

    def _at(self, axis: str, x: int, tokens: int, curves: Curves) -> Iterator[Point]:
        """One place on an axis, its curves in turns."""
        entries = []
        for curve, (asked, layout) in curves.items():
            ways: DecideKeywords = {"layout": layout}
            entries.append(Entry(curve, partial(ask_ours, self._decider, asked, ways)))
        held = hold(
            f"growth: {axis} {x}",
            entries,
            lru_cache(4)(partial(self._state, axis, tokens)),
            self._spending.limits,
            self._journal,
            states=10**9,
            warm_up=self._state(axis, min(tokens, QUESTION_STATE_TOKENS), -1),
        )
        for curve, (asked, layout) in curves.items():
            values = [turn.milliseconds for turn in held[curve]]
            _, fresh = self._tokens(asked, layout, tokens)
            low, middle, high = (float(value) for value in np.percentile(values, [25, 50, 75]))
            yield Point(axis, curve, x, fresh, middle, low, high, len(values))

    def _tokens(
        self, asked: Mapping[str, Question], layout: Layout, tokens: int
    ) -> tuple[int, int]:
        """Tokens of what is kept between calls, and of what is read in every call."""
        job = self._decider.prepare(self._state("tokens", tokens, 0), asked, layout=layout)
        return sum(len(row.prefix) for row in job.rendered.rows), job.fresh_tokens

    def _state(self, axis: str, tokens: int, number: int) -> str:
        return state_of(self._decider, Rng("growth", self._seed, axis, tokens, number), tokens)


def _choice(options: int, text: str) -> dict[str, Question]:
    return {"shelf": Choice([f"shelf {number}" for number in range(options)], text)}


def milliseconds_per_token(points: Sequence[Point]) -> float:
    """The one constant that brings the formula's tokens closest to the times, in ratio."""
    return math.exp(np.mean([math.log(point.milliseconds / point.tokens) for point in points]))


def lines_of(points: Sequence[Point]) -> list[Line]:
    """How much time and tokens grow from the first place of every curve to the last."""
    lines = []
    for axis, curve in dict.fromkeys((point.axis, point.curve) for point in points):
        mine = [point for point in points if (point.axis, point.curve) == (axis, curve)]
        first, last = mine[0], mine[-1]
        name = f"{AXES[axis]}, {curve}, {first.x:,} to {last.x:,}"
        lines += [
            Line(f"{name}: time grows", last.milliseconds / first.milliseconds, unit="ratio"),
            Line(f"{name}: tokens grow", last.tokens / first.tokens, unit="ratio"),
        ]
    return lines
