"""Endless items of one family with its twins, the same ones on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites import arithmetic, branch, scenes
from thisthat_lab.suites.base.family import Family
from thisthat_lab.suites.branch.registry import families

FAMILIES: dict[str, Family[Any, Any]] = {
    **families(),
    **{family.name: family for family in arithmetic.families()},
    **{family.name: family for family in scenes.families()},
}


def drawn(stream: str, name: str) -> Iterator[Item]:
    """Items with the usual mix of difficulty; about a third are followed by their twin."""
    family = FAMILIES[name]
    rng = Rng(stream, name)
    settings: Any = branch.BranchSettings()
    if family.suite == "arithmetic":
        settings = arithmetic.ArithmeticSettings()
    if family.suite == "scenes":
        settings = scenes.SceneSettings()
    twin = getattr(family, "twin", None)
    while True:
        case = family.draw(rng, settings.draw(rng))
        if case is None:
            continue
        yield family.item_for(case, rng, "test")
        other = twin(case, rng) if twin is not None and rng.chance(settings.twins) else None
        if other is not None:
            yield family.item_for(other, rng, "test")
