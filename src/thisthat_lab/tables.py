"""Data beside the module that uses it: a JSON file of the module's name, read once and checked.

What is only data (words, names, wordings) stands there. Imports nothing of the laboratory.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


class Tables:
    """The tables of one file by name; a missing or misshapen one raises an error that names it."""

    def __init__(self, module: str) -> None:
        """Read the JSON file beside ``module``, which is the module's ``__file__``."""
        self._path = Path(module).with_suffix(".json")
        self._tables = json.loads(self._path.read_text(encoding="utf-8"))

    def read(self, name: str, shape: type[T]) -> T:
        """The table as ``shape``, lists as tuples where it says so."""
        if name not in self._tables:
            raise ValueError(f"{self._path.name} has no table {name!r}")
        text = json.dumps(self._tables[name])
        return TypeAdapter(shape).validate_json(text, strict=True)

    def words(self, name: str) -> tuple[str, ...]:
        """A table that is a list of texts."""
        return self.read(name, tuple[str, ...])

    def rows(self, name: str) -> tuple[tuple[str, ...], ...]:
        """A table of lists of texts."""
        return self.read(name, tuple[tuple[str, ...], ...])

    def groups(self, name: str) -> dict[str, tuple[str, ...]]:
        """A table of lists of texts by name."""
        return self.read(name, dict[str, tuple[str, ...]])
