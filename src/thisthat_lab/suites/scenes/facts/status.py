"""One of a few states of affairs, in order where they are degrees: intact, scratched, broken."""

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
    another,
    clause,
    open_question,
    spoken,
    yes_or_no,
)


@dataclass(frozen=True)
class Value:
    """``say`` are sentences that state it, ``claim`` the clause, ``ask`` direct questions."""

    name: str
    means: str
    claim: str
    ask: tuple[str, ...]
    say: tuple[str, ...]


@dataclass(frozen=True)
class Status(Fact):
    """``ask`` are open questions; ``ordered`` values are degrees and can be scored."""

    ask_which: tuple[str, ...]
    values: tuple[Value, ...]
    ordered: bool = False

    @property
    @override
    def kinds(self) -> tuple[Kind, ...]:
        return ("boolean", "choice", "score") if self.ordered else ("boolean", "choice")

    @override
    def draw(self, rng: Rng, stage: Stage) -> int:
        return rng.below(len(self.values))

    @override
    def other(self, value: int, rng: Rng) -> int:
        return another(rng, len(self.values), value)

    @override
    def say(self, value: int, stage: Stage, rng: Rng) -> list[str]:
        return [spoken(rng.choice(self.values[value].say), stage)]

    @override
    def claim(self, value: int, stage: Stage) -> str:
        return clause(self.values[value].claim, stage)

    @override
    def record(self, value: int, stage: Stage, rng: Rng) -> dict[str, JSONValue]:
        return {self.field: self.values[value].name}

    @override
    def ask(self, value: int, kind: Kind, stage: Stage, rng: Rng) -> Ask:
        if kind == "boolean":
            holds = rng.chance(0.5)
            about = value if holds else self.other(value, rng)
            return Ask(kind, about, rng.chance(0.2), rng.raw())
        return Ask(kind, None, seed=rng.raw())

    @override
    def solve(self, value: int, ask: Ask) -> int:
        return int(value == ask.about) if ask.kind == "boolean" else value

    @override
    def turned(self, value: int, ask: Ask, rng: Rng) -> int:
        if ask.kind == "boolean" and ask.about != value:
            return int(ask.about)
        return self.other(value, rng)

    @override
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        if ask.kind == "boolean":
            value = self.values[ask.about]
            direct = [clause(text, stage) for text in value.ask]
            return yes_or_no(clause(value.claim, stage), direct, ask, rng)
        asked = open_question([clause(text, stage) for text in self.ask_which], rng)
        if rng.chance(0.6):
            return asked, tuple((value.name, None) for value in self.values)
        return asked, tuple((value.name, clause(value.means, stage)) for value in self.values)
