"""The tables: what can be so in one kind of scene, in the words people use.

``tables/*.json`` hold them, several a file; tables of one file are close in subject.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

from pydantic import TypeAdapter

from thisthat_lab.suites.scenes.facts.fact import Fact
from thisthat_lab.suites.scenes.facts.group import Group
from thisthat_lab.suites.scenes.facts.named import Named
from thisthat_lab.suites.scenes.facts.number import Number
from thisthat_lab.suites.scenes.facts.order import Order
from thisthat_lab.suites.scenes.facts.status import Status
from thisthat_lab.suites.scenes.facts.who import Who

FOLDER = Path(__file__).with_name("tables")
FACTS: dict[str, type[Fact]] = {
    "status": Status,
    "number": Number,
    "named": Named,
    "who": Who,
    "order": Order,
    "group": Group,
}
"""The kinds of facts by the word that families and tables use."""


@dataclass(frozen=True)
class Table:
    """One kind of scene. ``about`` are subject lines; ``fill`` words that stand in its sentences.

    Any values of its facts go together, so every fact can be changed alone. ``aside``: its
    sentences name what they are about, so that one of them may stand in another scene and decide
    nothing there.
    """

    name: str
    subject: str
    about: tuple[str, ...]
    facts: tuple[Fact, ...]
    fill: dict[str, tuple[str, ...]] = field(default_factory=dict)
    aside: bool = False

    def of_kind(self, kind: type[Fact]) -> list[int]:
        """The places of the facts of one kind."""
        return [place for place, fact in enumerate(self.facts) if type(fact) is kind]


@cache
def tables() -> dict[str, Table]:
    """Every table by name, in order of name; ValueError for two of one name or a strange gap."""
    found: dict[str, Table] = {}
    for path in sorted(FOLDER.glob("*.json")):
        for row in json.loads(path.read_text(encoding="utf-8")):
            table = _read(row, path.stem)
            if table.name in found:
                raise ValueError(f"two tables are called {table.name!r}")
            _check_gaps(row, table)
            found[table.name] = table
    return dict(sorted(found.items()))


def halves() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tables' names in two halves: every other name in order, of all subjects."""
    names = tuple(tables())
    return names[::2], names[1::2]


def _read(row: dict[str, Any], subject: str) -> Table:
    facts: list[Fact] = []
    for word, kind in FACTS.items():
        shape = _shape(kind)
        facts += [shape.validate_json(json.dumps(one), strict=True) for one in row.pop(word, [])]
    head: Table = _shape(Table).validate_json(
        json.dumps({**row, "subject": subject, "facts": []}), strict=True
    )
    return replace(head, facts=tuple(facts))


@cache
def _shape(kind: type) -> TypeAdapter[Any]:
    # Made once: making one takes longer than reading a table.
    return TypeAdapter(kind)


_GAPS = {"n", "m", "v", "x", "all"}


def _check_gaps(row: dict[str, Any], table: Table) -> None:
    known = _GAPS | set(table.fill)
    for fact in table.facts:
        for text in _texts(fact.__dict__):
            for _, gap, _, _ in Formatter().parse(text):
                if gap is not None and gap not in known:
                    raise ValueError(f"{table.name}: nothing fills {{{gap}}} in {text!r}")


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [text for each in value for text in _texts(each)]
    return _texts(value.__dict__) if hasattr(value, "__dict__") else []
