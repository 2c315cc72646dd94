"""Which of two events came first."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from thisthat.questions import JSONValue, Kind
from thisthat.rng import Rng
from thisthat_lab.suites.scenes.facts.fact import (
    Ask,
    Fact,
    Options,
    Stage,
    clause,
    open_question,
    spoken,
    yes_or_no,
)
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_SAY = _TABLES.rows("say")
_FIRST = _TABLES.words("first")
_LAST = _TABLES.words("last")
_CLAIM = "{A} before {B}"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclass(frozen=True)
class Pair:
    """Two events by number, the earlier one first in time, shown as ``one`` and ``two``."""

    one: int
    two: int
    one_first: bool

    @property
    def in_time(self) -> tuple[int, int]:
        """The earlier and the later event."""
        return (self.one, self.two) if self.one_first else (self.two, self.one)


@dataclass(frozen=True)
class Order(Fact):
    """``events`` are clauses in the past tense that may come in any order."""

    events: tuple[str, ...]

    @property
    @override
    def kinds(self) -> tuple[Kind, ...]:
        return ("boolean", "choice")

    @override
    def draw(self, rng: Rng, stage: Stage) -> Pair:
        one, two = rng.sample(range(len(self.events)), 2)
        return Pair(one, two, rng.chance(0.5))

    @override
    def other(self, value: Pair, rng: Rng) -> Pair:
        return Pair(value.one, value.two, not value.one_first)

    @override
    def say(self, value: Pair, stage: Stage, rng: Rng) -> list[str]:
        first, second = (clause(self.events[number], stage) for number in value.in_time)
        day = rng.below(len(_DAYS) - 1)
        start = rng.integer(8, 12)
        named = {
            "A": first,
            "B": second,
            "t": f"{start}:{rng.integer(0, 5)}0",
            "u": f"{start + rng.integer(1, 5)}:{rng.integer(0, 5)}0",
            "day": _DAYS[day],
            "next": _DAYS[rng.integer(day + 1, len(_DAYS) - 1)],
        }
        return [spoken(text, stage, **named) for text in rng.choice(_SAY)]

    @override
    def claim(self, value: Pair, stage: Stage) -> str:
        first, second = (clause(self.events[number], stage) for number in value.in_time)
        return _CLAIM.format(A=first, B=second)

    @override
    def record(self, value: Pair, stage: Stage, rng: Rng) -> dict[str, JSONValue]:
        start = rng.integer(8, 12)
        times = (f"{start:02}:{rng.integer(0, 5)}0", f"{start + rng.integer(1, 5):02}:40")
        when = dict(zip(value.in_time, times, strict=True))
        return {
            self.field: {
                clause(self.events[number], stage): when[number]
                for number in (value.one, value.two)
            }
        }

    @override
    def ask(self, value: Pair, kind: Kind, stage: Stage, rng: Rng) -> Ask:
        if kind == "boolean":
            return Ask(kind, (value.one, value.two, rng.chance(0.5)), rng.chance(0.2), rng.raw())
        return Ask(kind, (value.one, value.two, rng.chance(0.6)), seed=rng.raw())

    @override
    def solve(self, value: Pair, ask: Ask) -> int:
        _, _, first = ask.about
        if ask.kind == "boolean":
            return int(value.one_first == first)
        return int(value.one_first != first)

    @override
    def turned(self, value: Pair, ask: Ask, rng: Rng) -> Pair:
        return self.other(value, rng)

    @override
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        one, two, first = ask.about
        if ask.kind == "boolean":
            return yes_or_no(self.claim(Pair(one, two, first), stage), (), ask, rng)
        asked = open_question(_FIRST if first else _LAST, rng)
        return asked, tuple((clause(self.events[number], stage), None) for number in (one, two))
