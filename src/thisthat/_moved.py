"""Where modules went: old import paths work for one more version, with a DeprecationWarning.

An old name imports the module at its new place; there is never a second copy of it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "thisthat.bench": "thisthat_lab.bench",
    "thisthat.bench.metrics": "thisthat.items.metrics",
    "thisthat.calibrate.conditions": "thisthat.decide.conditions",
    "thisthat.calibrate.distribution": "thisthat.decide.distribution",
    "thisthat.calibrate.evidence": "thisthat.decide.evidence",
    "thisthat.calibrate.identity": "thisthat.identity",
    "thisthat.calibrate.order": "thisthat.decide.option_order",
    "thisthat.calibrate.policy": "thisthat.decide.policy",
    "thisthat.calibrate.spans": "thisthat.decide.spans",
    "thisthat.calibrate.target": "thisthat.decide.target",
    "thisthat.calibrate.temperature": "thisthat.temperature",
    "thisthat.calibrate.tournament": "thisthat.decide.tournament",
    "thisthat.cores": "thisthat.cpus",
    "thisthat.decider": "thisthat.decide.decider",
    "thisthat.decides": "thisthat.decide.protocol",
    "thisthat.declare": "thisthat.questions_json",
    "thisthat.engine.native_engine": "thisthat.engine.native.engine",
    "thisthat.engine.onnx_engine": "thisthat.engine.onnx.engine",
    "thisthat.engine.torch_engine": "thisthat.engine.torch.engine",
    "thisthat.opening": "thisthat.decide.opening",
    "thisthat.prompt.format": "thisthat.prompt_format",
    "thisthat.probes": "thisthat.calibrate",
    "thisthat.probes.injection": "thisthat.calibrate.injection_probes",
    "thisthat.random": "thisthat.rng",
    "thisthat.serve.app": "thisthat.serve.http.app",
    "thisthat.serve.run": "thisthat.serve.http.run",
    "thisthat.suites": "thisthat_lab.suites",
    "thisthat.suites.family": "thisthat_lab.suites.base.family",
    "thisthat.suites.files": "thisthat.items.files",
    "thisthat.suites.item": "thisthat.items.item",
    "thisthat.train": "thisthat_lab.train",
    "thisthat.worlds": "thisthat_lab.worlds",
}
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

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        warnings.warn(f"{old} is now {self._new}", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(self._new)


def install() -> None:
    """Resolve old names from now on, before their new parents are searched."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
