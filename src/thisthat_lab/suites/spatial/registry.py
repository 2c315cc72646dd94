"""The spatial families by name. A family is found in the modules of its folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from thisthat_lab.suites.spatial import auxiliary, families, held_out
from thisthat_lab.suites.spatial.ask import SpatialFamily

SEARCH_FAMILIES = ("first_move", "reachable_within", "distance_band")
SEEN_FAMILIES = ("move_legal", "stochastic", "distance_band", "snake_safe")
"""The four of the paper's ``seen`` column, which it does not name. These are the subjects of its
simulator sets, have the column's published chance (0.425) and reproduce both columns (0.430, 0.314)
of the one system whose right answers were published family by family."""


@cache
def benchmark_families() -> Mapping[str, SpatialFamily[Any]]:
    """The fifteen families of the released benchmark."""
    return _families_in(families)


@cache
def held_out_families() -> Mapping[str, SpatialFamily[Any]]:
    """The four families that no training question is drawn from."""
    return _families_in(held_out)


@cache
def auxiliary_families() -> Mapping[str, SpatialFamily[Any]]:
    """The families for training alone."""
    return _families_in(auxiliary)


def training_families() -> Mapping[str, SpatialFamily[Any]]:
    """Every family that training questions may come from."""
    return {**benchmark_families(), **auxiliary_families()}


def _families_in(package: ModuleType) -> Mapping[str, SpatialFamily[Any]]:
    found: dict[str, SpatialFamily[Any]] = {}
    for one in iter_modules(package.__path__):
        module = import_module(f"{package.__name__}.{one.name}")
        for family in module.FAMILIES:
            if family.name in found:
                raise ValueError(f"{module.__name__} names a family {family.name} again")
            found[family.name] = family
    return dict(sorted(found.items()))
