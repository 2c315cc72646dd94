"""Where modules went: old import paths work for one more version, with a DeprecationWarning.

An old name imports the module at its new place; there is never a second copy of it.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:  # importlib.abc loads archives and temporary files, which nothing else here needs
    Loader = MetaPathFinder = object

MOVED: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""Old names to new ones. Modules below an old package are looked up below the new one."""


def new_name(name: str) -> str | None:
    """Where a module is now, or None if it has not moved."""
    below = ""
    while name.startswith("thisthat."):
        if name in MOVED:
            return MOVED[name] + below
        name, _, last = name.rpartition(".")
        below = f".{last}{below}"
    return None


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = new_name(fullname)
        return None if new is None else ModuleSpec(fullname, _Loader(new))


class _Loader(Loader):
    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        warnings.warn(f"{old} is now {self._new}", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(self._new)


def install() -> None:
    """Resolve old names from now on, before their new parents are searched."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
