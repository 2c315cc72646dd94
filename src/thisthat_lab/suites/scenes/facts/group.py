"""All of them but one, or one alone."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override

from thisthat.questions import JSONValue, Kind
from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import join
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
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_MOST = _TABLES.words("all_but_one")
_ONE = _TABLES.words("one_alone")
_DID = _TABLES.words("did")
_ODD = {True: _TABLES.words("who_did_not"), False: _TABLES.words("who_did")}
PEOPLE = 4


@dataclass(frozen=True)
class Part:
    """The odd one out by place, and whether the others did it."""

    odd: int
    others: bool

    def did(self, place: int) -> bool:
        """Whether the person at this place did it."""
        return (place != self.odd) == self.others


@dataclass(frozen=True)
class Group(Fact):
    """``who`` opens the scene with the names ``{all}``; ``past`` and ``base`` are what was done."""

    who: tuple[str, ...]
    past: str
    base: str

    @property
    @override
    def kinds(self) -> tuple[Kind, ...]:
        return ("boolean", "choice")

    @override
    def draw(self, rng: Rng, stage: Stage) -> Part:
        return Part(rng.below(PEOPLE), rng.chance(0.5))

    @override
    def other(self, value: Part, rng: Rng) -> None:
        return None

    @override
    def say(self, value: Part, stage: Stage, rng: Rng) -> list[str]:
        names = list(stage.people[:PEOPLE])
        others = [name for place, name in enumerate(names) if place != value.odd]
        form = rng.choice(_MOST if value.others else _ONE)
        told = spoken(form, stage, x=names[value.odd], rest=join(others), **self._verb(stage))
        return [told]

    @override
    def before(self, value: Part, stage: Stage, rng: Rng) -> list[str]:
        return [spoken(rng.choice(self.who), stage, all=join(stage.people[:PEOPLE]))]

    def _verb(self, stage: Stage) -> dict[str, str]:
        return {"past": clause(self.past, stage), "base": clause(self.base, stage)}

    @override
    def claim(self, value: Part, stage: Stage) -> str:
        form = _MOST[0] if value.others else _ONE[0]
        return clause(form[:-1], stage, x=stage.people[value.odd], **self._verb(stage))

    @override
    def record(self, value: Part, stage: Stage, rng: Rng) -> dict[str, JSONValue]:
        names = enumerate(stage.people[:PEOPLE])
        return {self.field: {name: "yes" if value.did(place) else "no" for place, name in names}}

    @override
    def ask(self, value: Part, kind: Kind, stage: Stage, rng: Rng) -> Ask:
        if kind == "choice":
            return Ask(kind, value.others, seed=rng.raw())
        did = rng.chance(0.5)
        about = rng.choice([place for place in range(PEOPLE) if value.did(place) == did])
        return Ask(kind, about, rng.chance(0.2), rng.raw())

    @override
    def solve(self, value: Part, ask: Ask) -> int:
        return int(value.did(ask.about)) if ask.kind == "boolean" else value.odd

    @override
    def turned(self, value: Part, ask: Ask, rng: Rng) -> Part:
        if ask.kind == "boolean" and ask.about != value.odd:
            return Part(ask.about, value.others)
        return Part(another(rng, PEOPLE, value.odd), value.others)

    @override
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        verb = self._verb(stage)
        if ask.kind == "boolean":
            name = stage.people[ask.about]
            direct = [clause(form, stage, x=name, **verb) for form in _DID]
            return yes_or_no(f"{name} {verb['past']}", direct, ask, rng)
        asked = open_question([clause(form, stage, **verb) for form in _ODD[ask.about]], rng)
        return asked, tuple((name, None) for name in stage.people[:PEOPLE])
