"""Drawing items so that every answer of a family is drawn equally often, exactly.

Items are bucketed by answer (and by map side where shares are asked for). A bucket that cannot
be filled is an error: the caller asks for fewer, nothing is topped up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import SpatialFamily
from thisthat_lab.suites.spatial.scene import Scene

Bucket = tuple[int | None, int]
_MOST_ATTEMPTS = 2_000_000


@dataclass(frozen=True)
class Drawn:
    """An item with the scene it is about."""

    scene: Scene
    item: Item


def even_buckets(count: int, options: int, sides: tuple[int, ...] | None) -> dict[Bucket, int]:
    """The same number for every answer, and for every side where sides are given.

    Raises ValueError when ``count`` cannot be shared out exactly.
    """
    places = [(side, answer) for side in sides or (None,) for answer in range(options)]
    if count % len(places):
        raise ValueError(f"{count} items cannot be shared equally among {len(places)} buckets")
    return dict.fromkeys(places, count // len(places))


def draw_balanced(
    family: SpatialFamily[Any],
    wanted: Mapping[Bucket, int],
    scenes: Callable[[frozenset[int | None]], Iterator[Scene]],
    rng: Rng,
    limit: int | None = None,
) -> Iterator[Drawn]:
    """Fill the buckets with items about scenes, one at a time; ``limit`` stops after that many.

    ``scenes`` gives scenes for the sides that still have room. Raises ValueError when scenes run
    out or two million of them do not fill the buckets.
    """
    left = Counter(wanted)
    by_side = any(side is not None for side, _ in wanted)
    total = min(sum(wanted.values()), limit if limit is not None else 10**9)
    attempts = 0
    for _ in range(total):
        open_sides = frozenset(side for (side, _), count in left.items() if count)
        for scene in scenes(open_sides):
            attempts += 1
            if attempts > _MOST_ATTEMPTS:
                raise ValueError(f"{family.name}: no scene found for {+left}")
            case = family.draw(rng, scene)
            if case is None:
                continue
            bucket = (scene.facts["size"] if by_side else None, family.solve(case))
            if left[bucket] > 0:
                left[bucket] -= 1
                yield Drawn(scene, family.item_for(case, rng, "evaluation"))
                break
        else:
            raise ValueError(f"{family.name}: the scenes ran out with {+left} still wanted")


def interleave(drawn: list[Drawn], rng: Rng) -> list[Item]:
    """The items in random order, answers taking turns, so that every beginning is balanced too."""
    by_answer: dict[int, list[Item]] = {}
    for one in rng.shuffled(drawn):
        by_answer.setdefault(one.item.answer, []).append(one.item)
    items: list[Item] = []
    while any(by_answer.values()):
        items.extend(by_answer[answer].pop() for answer in sorted(by_answer) if by_answer[answer])
    return items
