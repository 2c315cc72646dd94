"""Scenes in bulk: an endless stream for training, a balanced set for measuring."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import Kind
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import Asked, Family, check_ranges
from thisthat_lab.suites.branch.streams import balanced_items
from thisthat_lab.suites.scenes.facts.fact import Ask
from thisthat_lab.suites.scenes.scene import Scene, draw_scene, stage_of, write
from thisthat_lab.suites.scenes.table import FACTS, Table, halves, tables

Part = Literal["all", "first", "second"]


@dataclass(frozen=True)
class SceneSettings:
    """What scenes look like.

    A scene tells ``facts`` facts at most among ``idle`` other sentences at most. Up to
    ``questions`` are asked about it, and ``twins`` of the scenes are followed by their twin.
    ``tables`` takes all of the tables, or one half of them by name: what one half teaches can
    then be measured on the other.
    """

    facts: int = 4
    idle: int = 3
    questions: int = 5
    twins: float = 0.9
    tables: Part = "all"

    def __post_init__(self) -> None:
        if self.tables not in ("all", "first", "second"):
            raise InvalidInputError("tables", f"is {self.tables!r}; it is all, first or second")
        check_ranges(self, facts=(1, 8), idle=(0, 12), questions=(1, 12), twins=(0, 1))

    def draw(self, rng: Rng) -> SceneSettings:
        """The setting of the next scene: these."""
        return self

    def names(self) -> tuple[str, ...]:
        """The tables to draw from."""
        first, second = halves()
        return {"all": tuple(tables()), "first": first, "second": second}[self.tables]


@dataclass(frozen=True)
class Case:
    """A scene, which of its facts is asked for, and how."""

    scene: Scene
    place: int
    ask: Ask


@dataclass(frozen=True)
class SceneFamily(Family[Case, SceneSettings]):
    """Questions of one kind about one kind of fact."""

    twin: Callable[[Case, Rng], Case | None] | None = None


def solve(case: Case) -> int:
    """The answer, from the fact's value alone."""
    return case.scene.fact(case.place).answer(case.scene.told[case.place].value, case.ask)


def render(case: Case, rng: Rng) -> Asked:
    """The scene written down, and the question in words; ``rng`` is not needed."""
    scene, fact = case.scene, case.scene.fact(case.place)
    table = tables()[scene.table]
    state, spans = write(scene)
    question, options = fact.question(
        case.ask, stage_of(table, scene.seed), Rng("ask", case.ask.seed)
    )
    facts = {"table": table.name, "fact": fact.field, "deciding": spans[case.place]}
    return Asked(state, question, options, facts)


def twin(case: Case, rng: Rng) -> Case:
    """The same question about the same scene with the one fact changed, so that it turns."""
    told = case.scene.told[case.place]
    value = case.scene.fact(case.place).turned(told.value, case.ask, rng)
    return Case(case.scene.with_value(case.place, value), case.place, case.ask)


@cache
def families() -> tuple[SceneFamily, ...]:
    """Every family: one for each kind of fact and each kind of question that asks for it."""
    kinds: dict[str, set[Kind]] = {}
    for word, kind in FACTS.items():
        for table in tables().values():
            for place in table.of_kind(kind):
                kinds.setdefault(word, set()).update(table.facts[place].kinds)
    return tuple(_family(word, kind) for word in FACTS for kind in sorted(kinds.get(word, ())))


def _family(word: str, kind: Kind) -> SceneFamily:
    def draw(rng: Rng, settings: SceneSettings) -> Case | None:
        places = [
            (table, place)
            for table in map(tables().__getitem__, settings.names())
            for place in table.of_kind(FACTS[word])
            if kind in table.facts[place].kinds
        ]
        if not places:
            return None
        scene = draw_scene(*rng.choice(places), rng, settings.facts, settings.idle)
        return Case(scene, 0, _asked(scene, 0, kind, rng))

    return SceneFamily(
        name=f"scene_{word}_{kind}",
        suite="scenes",
        kind=kind,
        option_count=2 if kind == "boolean" else None,
        held_out=False,
        draw=draw,
        solve=solve,
        render=render,
        twin=twin,
    )


def _asked(scene: Scene, place: int, kind: Kind, rng: Rng) -> Ask:
    stage = stage_of(tables()[scene.table], scene.seed)
    return scene.fact(place).ask(scene.told[place].value, kind, stage, rng)


def training_items(seed: int, settings: SceneSettings | None = None) -> Iterator[Item]:
    """Endless items, every table as often as the others; those about one scene stand together."""
    settings = settings or SceneSettings()
    rng = Rng("scenes training", seed)
    while True:
        for name in rng.shuffled(settings.names()):
            yield from _about(tables()[name], settings, rng)


def _about(table: Table, settings: SceneSettings, rng: Rng) -> Iterator[Item]:
    """Questions about a scene, then about its twin: those that turn, and one that does not."""
    needed = rng.below(len(table.facts))
    scene = draw_scene(table, needed, rng, settings.facts, settings.idle)
    cases: list[Case] = []
    for _ in range(rng.integer(1, settings.questions)):
        place = rng.below(len(scene.told)) if cases else 0
        kind = rng.choice(scene.fact(place).kinds)
        if kind != "boolean" and any((c.place, c.ask.kind) == (place, kind) for c in cases):
            continue
        cases.append(Case(scene, place, _asked(scene, place, kind, rng)))
    yield from _items(cases, rng)
    if not rng.chance(settings.twins):
        return
    turned = twin(cases[0], rng).scene
    kept = [case for case in cases if case.place != 0][:1]
    about = [case for case in cases if case.place == 0]
    yield from _items([_moved(case, turned) for case in (*about, *kept)], rng)


def _moved(case: Case, scene: Scene) -> Case:
    """The same question about another scene, or another where the options no longer fit."""
    fact, value = scene.fact(case.place), scene.told[case.place].value
    if case.ask.kind == "choice" and not fact.offers(value, case.ask):
        stage = stage_of(tables()[scene.table], scene.seed)
        return Case(scene, case.place, fact.ask(value, "choice", stage, Rng(case.ask.seed)))
    return Case(scene, case.place, case.ask)


def _items(cases: Sequence[Case], rng: Rng) -> Iterator[Item]:
    by_name = {family.name: family for family in families()}
    words = {kind: word for word, kind in FACTS.items()}
    asked: set[str] = set()
    for case in cases:
        word = words[type(case.scene.fact(case.place))]
        item = by_name[f"scene_{word}_{case.ask.kind}"].item_for(case, rng, "train")
        if item.question not in asked:
            asked.add(item.question)
            yield item


def evaluation_items(
    per_family: int, seed: int = 0, settings: SceneSettings | None = None
) -> list[Item]:
    """At most ``per_family`` items of every family, exactly label balanced."""
    settings = settings or SceneSettings()
    return [
        item for family in families() for item in balanced_items(family, per_family, seed, settings)
    ]
