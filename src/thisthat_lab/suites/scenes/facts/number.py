"""An amount or a time of day, on one side of a limit or the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from typing_extensions import override

from thisthat.questions import JSONValue, Kind
from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import COUNT_WORDS
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

_IN_WORDS = 0.3
_MOST_LEVELS = 5


@dataclass(frozen=True)
class Side:
    """One side of a bound as a clause and as direct questions, with a gap ``{m}``."""

    claim: str
    ask: tuple[str, ...]


@dataclass(frozen=True)
class Limit:
    """A bound that the text itself names: above it is ``over``, not above it ``within``."""

    field: str
    say: tuple[str, ...]
    over: Side
    within: Side


@dataclass(frozen=True)
class Amount:
    """The number, the bound that is asked about, whether the text names the bound, and where."""

    number: int
    bound: int
    named: bool
    bound_first: bool


@dataclass(frozen=True)
class Number(Fact):
    """``say_it`` has a gap ``{n}``. ``range`` is lowest, highest and step.

    ``show`` writes a number for people ("{n} euros"); clock times are minutes after midnight.
    """

    range: tuple[int, int, int]
    show: str
    say_it: tuple[str, ...]
    ask_which: tuple[str, ...]
    more: Side
    less: Side
    limit: Limit | None = None
    clock: bool = False

    @property
    @override
    def kinds(self) -> tuple[Kind, ...]:
        return ("boolean", "choice", "score")

    @override
    def draw(self, rng: Rng, stage: Stage) -> Amount:
        low, high, step = self.range
        places = (high - low) // step
        reach = max(2, places // 3)
        bound = rng.integer(1, places - 1)
        above = rng.chance(0.5)
        if above:
            number = rng.integer(bound + 1, min(places, bound + reach))
        else:
            number = rng.integer(max(0, bound - reach), bound - 1)
        named = self.limit is not None and rng.chance(0.5)
        return Amount(low + step * number, low + step * bound, named, rng.chance(0.5))

    @override
    def other(self, value: Amount, rng: Rng) -> Amount:
        return replace(value, number=self._across(value, rng))

    @override
    def excludes(self, one: Amount, other: Amount) -> bool:
        return (one.number > one.bound) != (other.number > other.bound)

    @override
    def offers(self, value: Amount, ask: Ask) -> bool:
        return value.number in ask.about

    def _across(self, value: Amount, rng: Rng) -> int:
        """A number on the other side of the bound."""
        low, high, step = self.range
        reach = max(2, (high - low) // step // 3) * step
        if value.number > value.bound:
            lowest = max(low, value.bound - reach)
            return value.bound - step * rng.integer(1, (value.bound - lowest) // step)
        highest = min(high, value.bound + reach)
        return value.bound + step * rng.integer(1, (highest - value.bound) // step)

    def shown(self, number: int) -> str:
        """A number as people write it in an option."""
        return self.show.format(n=self._plain(number))

    def _plain(self, number: int) -> str:
        return f"{number // 60}:{number % 60:02}" if self.clock else str(number)

    @override
    def say(self, value: Amount, stage: Stage, rng: Rng) -> list[str]:
        written = self._plain(value.number)
        if not self.clock and value.number < len(COUNT_WORDS) and rng.chance(_IN_WORDS):
            written = COUNT_WORDS[value.number]
        return [spoken(rng.choice(self.say_it), stage, n=written)]

    @override
    def before(self, value: Amount, stage: Stage, rng: Rng) -> list[str]:
        return self._bound(value, stage, rng) if value.bound_first else []

    @override
    def after(self, value: Amount, stage: Stage, rng: Rng) -> list[str]:
        return [] if value.bound_first else self._bound(value, stage, rng)

    def _bound(self, value: Amount, stage: Stage, rng: Rng) -> list[str]:
        if self.limit is None or not value.named:
            return []
        return [spoken(rng.choice(self.limit.say), stage, m=self._plain(value.bound))]

    @override
    def claim(self, value: Amount, stage: Stage) -> str:
        side = self.more if value.number > value.bound else self.less
        return clause(side.claim, stage, m=self._plain(value.bound))

    @override
    def record(self, value: Amount, stage: Stage, rng: Rng) -> dict[str, JSONValue]:
        shown = self._plain if self.clock else self.shown
        fields: dict[str, JSONValue] = {self.field: shown(value.number)}
        if value.named and self.limit is not None:
            fields[self.limit.field] = shown(value.bound)
        return fields

    @override
    def ask(self, value: Amount, kind: Kind, stage: Stage, rng: Rng) -> Ask:
        if kind == "boolean":
            above = rng.chance(0.5)
            hidden = value.named and rng.chance(0.7)
            about = (above, None if hidden else value.bound)
            return Ask(kind, about, rng.chance(0.2), rng.raw())
        if kind == "choice":
            low, high, step = self.range
            places = [n for n in range(low, high + 1, step) if n not in (value.number, value.bound)]
            count = min(len(places), rng.integer(1, 3))
            numbers = {value.number, value.bound, *rng.sample(places, count)}
            return Ask(kind, tuple(sorted(numbers)), seed=rng.raw())
        return Ask(kind, self._edges(value.number, rng), seed=rng.raw())

    def _edges(self, number: int, rng: Rng) -> tuple[int, ...]:
        """The lower edges of all levels but the lowest, the number's level drawn evenly."""
        low, high, step = self.range
        levels = rng.integer(3, _MOST_LEVELS)
        width = step * rng.integer(1, max(1, (high - low) // step // levels))
        level = rng.below(levels)
        inside = step * rng.below(width // step)
        first = number - inside - (level - 1) * width
        while first <= 0:
            first += width
        return tuple(first + width * place for place in range(levels - 1))

    @override
    def solve(self, value: Amount, ask: Ask) -> int:
        if ask.kind == "boolean":
            above, bound = ask.about
            return int((value.number > (value.bound if bound is None else bound)) == above)
        if ask.kind == "choice":
            numbers: tuple[int, ...] = ask.about
            return numbers.index(value.number)
        return sum(value.number >= edge for edge in ask.about)

    @override
    def turned(self, value: Amount, ask: Ask, rng: Rng) -> Amount:
        if ask.kind == "boolean":
            return self.other(value, rng)
        if ask.kind == "choice":
            taken = (value.number, value.bound)
            return replace(value, number=rng.choice([n for n in ask.about if n not in taken]))
        # The lowest numbers of a level and the highest below it: a twin is near an edge.
        step = self.range[2]
        near = [edge + step * away for edge in ask.about for away in (-2, -1, 0, 1)]
        others = [replace(value, number=number) for number in near if number > 0]
        turned = [
            other
            for other in others
            if other.number != other.bound and self.solve(other, ask) != self.solve(value, ask)
        ]
        return rng.choice(turned)

    @override
    def question(self, ask: Ask, stage: Stage, rng: Rng) -> tuple[str, Options]:
        if ask.kind == "boolean":
            above, bound = ask.about
            side = self._side(above, bound is None)
            named = {} if bound is None else {"m": self._plain(bound)}
            direct = [clause(text, stage, **named) for text in side.ask]
            return yes_or_no(clause(side.claim, stage, **named), direct, ask, rng)
        asked = open_question([clause(text, stage) for text in self.ask_which], rng)
        if ask.kind == "choice":
            return asked, tuple((self.shown(number), None) for number in ask.about)
        return asked, tuple((text, None) for text in self.levels(ask.about))

    def _side(self, above: bool, hidden: bool) -> Side:
        if hidden:
            assert self.limit is not None
            return self.limit.over if above else self.limit.within
        return self.more if above else self.less

    def levels(self, edges: tuple[int, ...]) -> list[str]:
        """The levels between the edges in words."""
        below, above = ("before", "or later") if self.clock else ("under", "or more")
        between = [
            f"{self._plain(low)} to {'before' if self.clock else 'under'} {self.shown(high)}"
            for low, high in pairwise(edges)
        ]
        return [f"{below} {self.shown(edges[0])}", *between, f"{self.shown(edges[-1])} {above}"]
