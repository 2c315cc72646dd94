"""One of several values that go by their places: drawn, mistaken and asked for alike."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from typing_extensions import override

from thisthat.questions import Kind
from thisthat.rng import Rng
from thisthat_lab.suites.scenes.facts.fact import Ask, Fact, Stage, another


@dataclass(frozen=True)
class OneOf(Fact):
    """A boolean proposes one value; any other question offers all of them."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many values there are."""

    @property
    @override
    def kinds(self) -> tuple[Kind, ...]:
        return ("boolean", "choice")

    @override
    def draw(self, rng: Rng, stage: Stage) -> int:
        return rng.below(self.count)

    @override
    def other(self, value: int, rng: Rng) -> int:
        return another(rng, self.count, value)

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
