"""The branch families, found by looking: the modules and the JSON files of ``families``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import MappingProxyType
from typing import Any

from thisthat_lab.suites.base.family import Family
from thisthat_lab.suites.branch import families as modules
from thisthat_lab.suites.branch.machinery.declared import declared_family, declared_names


@cache
def families() -> MappingProxyType[str, Family[Any, Any]]:
    """Every branch family by name, in order of name; ValueError when two share a name."""
    found: dict[str, Family[Any, Any]] = {name: declared_family(name) for name in declared_names()}
    for module in pkgutil.walk_packages(modules.__path__, f"{modules.__name__}."):
        if module.ispkg:
            continue
        family = importlib.import_module(module.name).FAMILY
        if family.name in found:
            raise ValueError(f"two branch families are called {family.name!r}")
        found[family.name] = family
    return MappingProxyType(dict(sorted(found.items())))


def trained_families() -> tuple[Family[Any, Any], ...]:
    """The families training may draw from."""
    return tuple(family for family in families().values() if not family.held_out)


def held_out_families() -> tuple[Family[Any, Any], ...]:
    """The families kept out of all training."""
    return tuple(family for family in families().values() if family.held_out)
