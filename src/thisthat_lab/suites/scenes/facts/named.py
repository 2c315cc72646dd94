"""One of many names of a kind: a place, a day, a colour, a dish."""

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
class Named(OneOf):
    """``say``, ``claim`` and ``ask`` have a gap ``{v}`` for one of ``values``."""

    values: tuple[str, ...]
    say_it: tuple[str, ...]
    claim_it: str
    ask_which: tuple[str, ...]
    ask_it: tuple[str, ...] = ()

    @property
    @override
    def count(self) -> int:
        return len(self.values)

    @override
    def say(self, value: int, stage: Stage, rng: Rng) -> list[str]:
        return [spoken(rng.choice(self.say_it), stage, v=self.values[value])]

    @override
    def claim(self, value: int, stage: Stage) -> str:
        return clause(self.claim_it, stage, v=self.values[value])

    @override
    def record(self, value: int, stage: Stage, rng: Rng) -> dict[str, JSONValue]:
        return {self.field: self.values[value]}

    @override
    def ask(self, value: int, kind: Kind, stage: Stage, rng: Rng) -> Ask:
        if kind == "boolean":
            return super().ask(value, kind, stage, rng)
        others = [place for place in range(len(self.values)) if place != value]
        wrong = rng.sample(others, rng.integer(2, min(6, len(others))))
        return Ask(kind, tuple(sorted((value, *wrong))), seed=rng.raw())

    @override
    def solve(self, value: int, ask: Ask) -> int:
        if ask.kind == "boolean":
            return super().solve(value, ask)
        places: tuple[int, ...] = ask.about
        return places.index(value)

    @override
    def turned(self, value: int, ask: Ask, rng: Rng) -> int:
        if ask.kind == "choice":
            return int(rng.choice([place for place in ask.about if place != value]))
        return super().turned(value, ask, rng)

    @override
    def offers(self, value: int, ask: Ask) -> bool:
        return value in ask.about

    @override
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        if ask.kind == "boolean":
            named = self.values[ask.about]
            direct = [clause(text, stage, v=named) for text in self.ask_it]
            return yes_or_no(clause(self.claim_it, stage, v=named), direct, ask, rng)
        asked = open_question([clause(text, stage) for text in self.ask_which], rng)
        return asked, tuple((self.values[place], None) for place in ask.about)
