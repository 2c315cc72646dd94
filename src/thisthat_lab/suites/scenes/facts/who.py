"""Which of the people it was."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from thisthat.questions import JSONValue
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
from thisthat_lab.tables import Tables

_BYSTANDERS = Tables(__file__).words("bystanders")
PEOPLE = 3
"""How many of a scene's people it may have been."""


@dataclass(frozen=True)
class Who(OneOf):
    """``say_it``, ``claim_it`` and ``ask_it`` have a gap ``{x}`` for the person."""

    say_it: tuple[str, ...]
    claim_it: str
    ask_which: tuple[str, ...]
    ask_it: tuple[str, ...] = ()

    @property
    @override
    def count(self) -> int:
        return PEOPLE

    @override
    def say(self, value: int, stage: Stage, rng: Rng) -> list[str]:
        return [spoken(rng.choice(self.say_it), stage, x=stage.people[value])]

    @override
    def after(self, value: int, stage: Stage, rng: Rng) -> list[str]:
        others = [name for place, name in enumerate(stage.people[:PEOPLE]) if place != value]
        return [
            form.format(y=name)
            for form, name in zip(
                rng.sample(_BYSTANDERS, rng.integer(1, 2)), rng.shuffled(others), strict=False
            )
        ]

    @override
    def claim(self, value: int, stage: Stage) -> str:
        return clause(self.claim_it, stage, x=stage.people[value])

    @override
    def record(self, value: int, stage: Stage, rng: Rng) -> dict[str, JSONValue]:
        return {self.field: stage.people[value], "people": list(stage.people[:PEOPLE])}

    @override
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        if ask.kind == "boolean":
            name = stage.people[ask.about]
            direct = [clause(text, stage, x=name) for text in self.ask_it]
            return yes_or_no(clause(self.claim_it, stage, x=name), direct, ask, rng)
        asked = open_question([clause(text, stage) for text in self.ask_which], rng)
        return asked, tuple((name, None) for name in stage.people[:PEOPLE])
