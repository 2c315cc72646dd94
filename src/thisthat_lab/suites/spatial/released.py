"""The released spatial benchmark: 7,305 questions about 6,525 states, the same bytes every time.

Fifteen families, exactly balanced by answer. The search families and the goal's bearing have
equal shares of map sides 8, 16 and 32. Bands of distance cannot be balanced within a side (a
map of side 8 has no walk of 65 moves), so ``distance_band`` fixes a table of sides and bands;
guessing the commonest band of each side scores 0.486 on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.items.files import read_items, write_items
from thisthat.items.item import Item, dump_row
from thisthat.rng import Rng
from thisthat_lab.suites.spatial import balance
from thisthat_lab.suites.spatial.ask import SpatialFamily
from thisthat_lab.suites.spatial.balance import Bucket, Drawn
from thisthat_lab.suites.spatial.pool import EvaluationPool
from thisthat_lab.suites.spatial.registry import benchmark_families
from thisthat_lab.suites.spatial.scene import Scene, SceneKind
from thisthat_lab.tables import Tables

SIDES = (8, 16, 32)
PLACES_PER_KIND = 120
_TABLES = Tables(__file__)
COUNTS = _TABLES.read("counts", dict[str, int])
SHARED_STATES = _TABLES.read("shared_states", dict[str, int])
BANDS_BY_SIDE = _TABLES.read("bands_by_side", dict[int, tuple[int, ...]])
EQUAL_SIDES = ("goal_bearing", "first_move", "reachable_within")
FILE = Path(__file__).with_name("released.jsonl.zst")
"""The benchmark as it was released; ``write_released`` writes the same."""
SHA256 = "530c945ec460dc491527468ec1547341c99bdd85206cade06fae672f78bc7f5c"


def released_items() -> list[Item]:
    """The benchmark, family by family; every item carries its fingerprint in its facts."""
    pool = EvaluationPool("released", SIDES, PLACES_PER_KIND)
    families = benchmark_families()
    seen: dict[SceneKind, dict[str, Scene]] = {"window": {}, "map": {}, "snake": {}}
    items: list[Item] = []
    for name in COUNTS:
        family = families[name]
        drawn = _draw_family(family, pool, seen[family.scene_kind])
        items.extend(balance.interleave(drawn, Rng("released order", name)))
    return [replace(item, facts={**item.facts, "fingerprint": item.fingerprint}) for item in items]


def read_released() -> list[Item]:
    """The benchmark out of the file that comes with the package: what ``released_items`` draws.

    Raises InvalidInputError when the file was changed, MissingExtraError where it cannot be read.
    """
    items = list(read_items(FILE))
    if released_sha256(items) != SHA256:
        raise InvalidInputError(str(FILE), "is not the released benchmark: its hash is another one")
    return items


def write_released(path: str | Path) -> str:
    """Write the benchmark and return the sha256 of its JSONL text, whatever the file format."""
    items = released_items()
    write_items(path, items, level=19)
    return released_sha256(items)


def released_sha256(items: list[Item]) -> str:
    """The sha256 of the items as JSONL."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(dump_row(item.as_dict()).encode() + b"\n")
    return digest.hexdigest()


def _buckets(family: SpatialFamily[Any]) -> dict[Bucket, int]:
    if family.name == "distance_band":
        return {
            (side, band): count
            for side, counts in BANDS_BY_SIDE.items()
            for band, count in enumerate(counts)
        }
    sides = SIDES if family.name in EQUAL_SIDES else None
    return balance.even_buckets(COUNTS[family.name], family.option_count or 1, sides)


def _draw_family(
    family: SpatialFamily[Any], pool: EvaluationPool, seen: dict[str, Scene]
) -> list[Drawn]:
    """Some items about states that earlier families ask about too, the rest about new ones.

    The new scenes are added to ``seen``, which holds every scene so far by its text.
    """
    rng = Rng("released", family.name)
    wanted = _buckets(family)
    known = iter(rng.shuffled(list(seen.values())))

    def again(sides: frozenset[int | None]) -> Iterator[Scene]:
        return known

    def fresh(sides: frozenset[int | None]) -> Iterator[Scene]:
        choices = [side for side in SIDES if side in sides or None in sides]
        while True:
            scene = pool.scene(family.scene_kind, rng, rng.choice(choices))
            if scene is not None and scene.state not in seen:
                yield scene

    drawn = list(
        balance.draw_balanced(family, wanted, again, rng, SHARED_STATES.get(family.name, 0))
    )
    for one in drawn:
        side = None if (None, 0) in wanted else one.item.facts["size"]
        wanted[side, one.item.answer] -= 1
    for one in balance.draw_balanced(family, wanted, fresh, rng):
        seen[one.scene.state] = one.scene
        drawn.append(one)
    return drawn
