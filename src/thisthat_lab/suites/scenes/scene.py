"""A scene: some facts of a table with their values, told by some people, written on a surface.

How it is written depends on the scene's seed and on the values alone, fact by fact: a scene in
which one fact has another value differs in that fact's sentences and in nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from thisthat.questions import JSONValue, Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import FIRST_NAMES
from thisthat_lab.suites.scenes import surfaces
from thisthat_lab.suites.scenes.facts.fact import Fact, Stage, spoken
from thisthat_lab.suites.scenes.facts.status import Status
from thisthat_lab.suites.scenes.table import Table, tables
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_NAMES = (*FIRST_NAMES, *_TABLES.words("names"))
_CORRECTIONS = _TABLES.words("corrections")
_RUMOURS = _TABLES.words("rumours")
_IDLE = _TABLES.words("idle")
_PEOPLE = 4
_OTHERS = 6

How = Literal["plain", "corrected", "denied"]


@dataclass(frozen=True)
class Told:
    """A fact by its place in the table, its value, and what is said wrongly first, if anything."""

    fact: int
    value: Any
    how: How = "plain"
    mistaken: Any = None


@dataclass(frozen=True)
class Scene:
    """``told`` facts of a table; ``idle`` sentences beside them decide nothing."""

    table: str
    told: tuple[Told, ...]
    idle: int
    seed: int

    def fact(self, place: int) -> Fact:
        """The fact that was told at this place."""
        return tables()[self.table].facts[self.told[place].fact]

    def with_value(self, place: int, value: Any) -> Scene:
        """The same scene in which one fact has another value."""
        told, fact = list(self.told), self.fact(place)
        mistaken = told[place].mistaken
        if mistaken is not None and not fact.excludes(mistaken, value):
            # What was said by mistake has become so: now something else is.
            mistaken = fact.other(value, Rng("mistaken", self.seed, place))
        told[place] = replace(told[place], value=value, mistaken=mistaken)
        return replace(self, told=tuple(told))


def draw_scene(table: Table, needed: int, rng: Rng, most: int, idle: int) -> Scene:
    """A scene that tells the fact ``needed`` first and up to ``most`` facts in all."""
    others = [place for place in range(len(table.facts)) if place != needed]
    count = rng.integer(0, min(most - 1, len(others)))
    seed = rng.raw()
    stage = stage_of(table, seed)
    told = tuple(
        _told(table.facts[place], place, stage, rng)
        for place in (needed, *rng.sample(others, count))
    )
    return Scene(table.name, told, rng.integer(0, idle), seed)


def _told(fact: Fact, place: int, stage: Stage, rng: Rng) -> Told:
    value = fact.draw(rng, stage)
    how: How = rng.weighted(("plain", "corrected", "denied"), (70, 15, 15))
    mistaken = fact.other(value, rng)
    if how == "plain" or mistaken is None:
        return Told(place, value)
    return Told(place, value, how, mistaken)


def stage_of(table: Table, seed: int) -> Stage:
    """The people of a scene and the words that stand in all its sentences."""
    rng = Rng("stage", seed)
    fill = {gap: rng.choice(words) for gap, words in table.fill.items()}
    return Stage(tuple(rng.sample(_NAMES, _PEOPLE)), fill)


def write(scene: Scene) -> tuple[Text, list[list[str]]]:
    """The scene as a state, and what states each told fact."""
    table = tables()[scene.table]
    stage = stage_of(table, scene.seed)
    rng = Rng("surface", scene.seed)
    tellers = rng.sample([name for name in _NAMES if name not in stage.people], _OTHERS)
    subject = spoken(rng.choice(table.about), stage)
    if surfaces.is_record(rng):
        fields, spans = _fields(scene, table, stage)
        return surfaces.record(fields, subject, rng), spans
    units = [_unit(told, table, stage, scene.seed, tellers[-1]) for told in scene.told]
    idle = [[text] for text in _idle(scene, table, rng)]
    shown = rng.shuffled([*units, *idle])
    return surfaces.text(shown, subject, tellers, rng), units


def _fields(
    scene: Scene, table: Table, stage: Stage
) -> tuple[dict[str, JSONValue], list[list[str]]]:
    fields: dict[str, JSONValue] = {}
    spans = []
    for told in scene.told:
        rng = Rng("record", scene.seed, told.fact)
        mine = table.facts[told.fact].record(told.value, stage, rng)
        fields |= mine
        spans.append(list(mine))
    return fields, spans


def _unit(told: Told, table: Table, stage: Stage, seed: int, teller: str) -> list[str]:
    """The sentences that tell one fact, a mistake first where there is one."""
    fact = table.facts[told.fact]
    before = fact.before(told.value, stage, Rng("before", seed, told.fact))
    right = fact.say(told.value, stage, Rng("say", seed, told.fact))
    after = fact.after(told.value, stage, Rng("after", seed, told.fact))
    rng = Rng("mistake", seed, told.fact)
    if told.how == "corrected":
        wrong = fact.say(told.mistaken, stage, Rng("wrong", seed, told.fact))
        right = [*wrong, f"{rng.choice(_CORRECTIONS)} {right[0]}", *right[1:]]
    elif told.how == "denied":
        claim = fact.claim(told.mistaken, stage)
        right = [rng.choice(_RUMOURS).format(claim=claim, name=teller), *right]
    return [*before, *right, *after]


def _idle(scene: Scene, table: Table, rng: Rng) -> Sequence[str]:
    """Small talk, and now and then how things stand in a scene of another subject."""
    said = list(rng.sample(_IDLE, scene.idle))
    if scene.idle and rng.chance(0.4):
        others = [one for one in tables().values() if one.aside and one.subject != table.subject]
        other = rng.choice(others)
        stage = stage_of(other, rng.raw())
        fact = other.facts[rng.choice(other.of_kind(Status))]
        said[-1] = " ".join(fact.say(fact.draw(rng, stage), stage, rng))
    return said
