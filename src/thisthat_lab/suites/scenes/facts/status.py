"""One of a few states of affairs, in order where they are degrees: intact, scratched, broken."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from thisthat.questions import JSONValue, Kind
from thisthat.rng import Rng
from thisthat_lab.suites.scenes.facts.fact import (
    Ask,
    Options,
    Stage,
    clause,
    open_question,
    spoken,
    yes_or_no,
)
from thisthat_lab.suites.scenes.facts.one_of import OneOf


@dataclass(frozen=True)
class Value:
    """``say`` are sentences that state it, ``claim`` the clause, ``ask`` direct questions."""

    name: str
    means: str
    claim: str
    ask: tuple[str, ...]
    say: tuple[str, ...]


@dataclass(frozen=True)
class Status(OneOf):
    """``ask`` are open questions; ``ordered`` values are degrees and can be scored."""

    ask_which: tuple[str, ...]
    values: tuple[Value, ...]
    ordered: bool = False

    @property
    @override
    def kinds(self) -> tuple[Kind, ...]:
        return ("boolean", "choice", "score") if self.ordered else ("boolean", "choice")

    @property
    @override
    def count(self) -> int:
        return len(self.values)

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
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        if ask.kind == "boolean":
            value = self.values[ask.about]
            direct = [clause(text, stage) for text in value.ask]
            return yes_or_no(clause(value.claim, stage), direct, ask, rng)
        asked = open_question([clause(text, stage) for text in self.ask_which], rng)
        if rng.chance(0.6):
            return asked, tuple((value.name, None) for value in self.values)
        return asked, tuple((value.name, clause(value.means, stage)) for value in self.values)
