"""Branch items in bulk: an endless stream for training, an exactly balanced set for measuring.

Training and measuring draw from unrelated random streams, so equal seeds share no items.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import with_option_at
from thisthat_lab.suites.base.family import Family
from thisthat_lab.suites.base.settings import BranchSettings
from thisthat_lab.suites.branch.registry import families, trained_families
from thisthat_lab.suites.drills.about import drills_about

EVALUATION_ABSTAIN = 0.2
_DRAWS_PER_ITEM = 3


def training_items(seed: int, settings: BranchSettings | None = None) -> Iterator[Item]:
    """Endless items of the trained families, each family as often as the others.

    A share of items is followed by its twin (same question shape, other answer).
    """
    settings = settings or BranchSettings()
    rng = Rng("branch training", seed)
    trained = trained_families()
    while True:
        for family in rng.shuffled(trained):
            yield from _with_twin(family, settings, rng)


def _with_twin(family: Family[Any, Any], settings: BranchSettings, rng: Rng) -> Iterator[Item]:
    case = family.draw(rng, settings.draw(rng))
    if case is None:
        return
    yield from _with_drills(family, case, settings, rng)
    twin = getattr(family, "twin", None)
    if twin is not None and rng.chance(settings.twins):
        other = twin(case, rng)
        if other is not None:
            yield from _with_drills(family, other, settings, rng)


def _with_drills(
    family: Family[Any, Any], case: Any, settings: BranchSettings, rng: Rng
) -> Iterator[Item]:
    item = family.item_for(case, rng, "train")
    yield item
    clauses = getattr(family, "clauses", None)
    if settings.drills and clauses is not None:
        yield from drills_about(item.state, case.sheet, clauses(case), settings.drills, rng)


def evaluation_items(
    per_family: int,
    seed: int = 0,
    names: Sequence[str] | None = None,
    settings: BranchSettings | None = None,
) -> list[Item]:
    """At most ``per_family`` items of every family (or of those named), exactly label balanced.

    Among the questions of a family with the same number of options, every answer is right
    equally often, by name and by place; a rare answer makes the family smaller. Where options
    vary freely from item to item (which record, which queue), places differ by one at most.
    Raises InvalidInputError for an unknown name.
    """
    known = families()
    for name in names or ():
        if name not in known:
            raise InvalidInputError("names", f"{name!r} is no branch family")
    settings = settings or BranchSettings(abstain=EVALUATION_ABSTAIN)
    items: list[Item] = []
    for name in known if names is None else names:
        items += balanced_items(known[name], per_family, seed, settings)
    return items


@dataclass(frozen=True)
class _Drawn:
    """An item, the answer its case has before any shuffling, and whether options may move."""

    item: Item
    solved: int
    movable: bool


class Settings(Protocol):
    """What decides how the next item of a stream is drawn."""

    def draw(self, rng: Rng) -> Any:
        """The setting of the next item, as its family reads it."""


def balanced_items(
    family: Family[Any, Any], count: int, seed: int, settings: Settings
) -> list[Item]:
    """At most ``count`` items of one family of any suite, balanced as ``evaluation_items`` says."""
    rng = Rng("branch places", seed, family.name)
    pool = list(_pool(family, count, seed, settings))
    if family.kind == "choice" and family.option_count is None:
        return _with_places(rng.shuffled(pool)[:count], rng)
    groups: dict[tuple[bool, int], list[_Drawn]] = defaultdict(list)
    for drawn in pool:
        groups[("abstain" in drawn.item.facts, len(drawn.item.options))].append(drawn)
    rounds = [
        one
        for (_, options), group in sorted(groups.items())
        for one in _named_rounds(group, options, rng)
    ]
    items: list[Item] = []
    for one in rng.shuffled(rounds):
        if len(items) + len(one) <= count:
            items += one
    return items


def _pool(family: Family[Any, Any], count: int, seed: int, settings: Settings) -> Iterator[_Drawn]:
    split = "heldout_task" if family.held_out else "seen_task"
    seen: set[str] = set()
    for number in range(_DRAWS_PER_ITEM * count):
        keys = ("branch evaluation", seed, family.name, number)
        case = family.draw(Rng(*keys, "draw"), settings.draw(Rng(*keys, "setting")))
        if case is None:
            continue
        item = family.item_for(case, Rng(*keys, "render"), split)
        if item.state_hash in seen:
            continue
        seen.add(item.state_hash)
        asked = family.render(case, Rng(*keys, "render"))
        yield _Drawn(item, family.solve(case), family.kind == "choice" and asked.shuffle)


def _named_rounds(pool: Sequence[_Drawn], options: int, rng: Rng) -> Iterator[list[Item]]:
    """Rounds with every answer once, at every place once."""
    buckets: list[list[_Drawn]] = [[] for _ in range(options)]
    for drawn in pool:
        buckets[drawn.solved].append(drawn)
    for one in zip(*buckets, strict=False):
        places = rng.shuffled(range(options))
        yield [
            with_option_at(drawn.item, place) if drawn.movable else drawn.item
            for drawn, place in zip(one, places, strict=True)
        ]


def _with_places(pool: Sequence[_Drawn], rng: Rng) -> list[Item]:
    """The items with the right option at every place in turn, by number of options.

    Items that offer an abstain option take turns among themselves.
    """
    turns: dict[tuple[bool, int], int] = {}
    items: list[Item] = []
    for drawn in pool:
        options = len(drawn.item.options)
        group = ("abstain" in drawn.item.facts, options)
        turn = turns.setdefault(group, rng.below(options))
        turns[group] = turn + 1
        items.append(with_option_at(drawn.item, turn % options))
    return items
