"""Every measurement of `thisthat bench`: name, module, title of its results and help.

A measurement is a module below ``measurements`` and an entry of ``registry.json``. The module has
``run(context) -> Findings``; one that takes arguments has ``measurement_of(…)`` instead. Imports
nothing of the bench, so that listing the commands costs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One measurement; ``title`` may hold blanks for its arguments.

    ``engines_only`` ones need one of our engines; those without ``has_subset`` ask the same
    questions when the setting is quick; those ``in_suite`` are part of ``bench all``. ``caveats``
    stand below the results of every run, before those that a run adds; those of ``trained`` only
    where one of the recipes listed for them trained the measured checkpoint. Without ``seeded``
    the questions are the same whatever the seed.
    """

    name: str
    module: str
    title: str
    help: str
    engines_only: bool = False
    has_subset: bool = True
    in_suite: bool = True
    takes_arguments: bool = False
    seeded: bool = False
    caveats: tuple[str, ...] = ()
    trained: Mapping[str, Sequence[str]] = field(default_factory=dict)


REGISTRY = {
    entry.name: entry
    for row in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    for entry in [Entry(**{**row, "caveats": tuple(row.get("caveats", ()))})]
}
"""All of them by name, in the order of ``bench all`` and of the results page."""

SUITE = tuple(name for name, entry in REGISTRY.items() if entry.in_suite)
"""What ``bench all`` runs, in this order."""
