"""Measurements opened by name, and run one after another so that a stop costs little."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from thisthat.files import write_atomically
from thisthat_lab.bench.measure import Context, Measurement, registered, run_measurement
from thisthat_lab.bench.measurements.questions.cohort import FILE
from thisthat_lab.bench.registry import REGISTRY, SUITE
from thisthat_lab.bench.result import Result
from thisthat_lab.bench.systems.opening import EngineSystem

Report = Callable[[Path, Result], None]


def measurement(name: str) -> Measurement:
    """The measurement of that name, where it takes no arguments."""
    module = import_module(f"thisthat_lab.bench.measurements.{REGISTRY[name].module}")
    return registered(name, module.run)


def run_all(context: Context, command: Sequence[str], report: Report) -> list[Path]:
    """Run the whole suite; a suite that was stopped goes on with the measurement it was in.

    Measurements that need what this system or setting does not have (an engine, the cohort's
    file) are left out with a notice; one is also given of questions that a seed does not change.
    """
    progress = _Progress(context)
    paths: list[Path] = []
    for name in SUITE:
        reason = _left_out(name, context)
        if reason:
            context.console.print(f"{name}: left out, {reason}")
            continue
        if name in progress.done:
            context.console.print(f"{name}: done before the interruption")
            paths.append(context.setting.out / f"{name}.json")
            continue
        if context.setting.seed is not None and not REGISTRY[name].seeded:
            context.console.print(f"{name}: always asks the same questions, whatever the seed")
        path, result = run_measurement(measurement(name), context, command)
        report(path, result)
        progress.add(name)
        paths.append(path)
    context.finish()
    progress.finish()
    return paths


def _left_out(name: str, context: Context) -> str | None:
    data = context.setting.data
    if name == "cohort" and (data is None or not (data / FILE).is_file()):
        return f"no folder with {FILE} was named with --data"
    if REGISTRY[name].engines_only and not isinstance(context.system, EngineSystem):
        return "it measures one of our engines"
    return None


class _Progress:
    """Which measurements of an interrupted suite are done, for this system and setting alone."""

    def __init__(self, context: Context) -> None:
        setting = asdict(context.setting) | {"system": context.system.identity.as_dict()}
        setting["options"].pop("key")
        text = json.dumps(setting, sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        self._path = context.setting.out / f"all.{key}.partial.json"
        try:
            self.done: list[str] = json.loads(self._path.read_text())
        except (OSError, ValueError):
            self.done = []

    def add(self, name: str) -> None:
        self.done.append(name)
        write_atomically(self._path, json.dumps(self.done))

    def finish(self) -> None:
        self._path.unlink(missing_ok=True)
