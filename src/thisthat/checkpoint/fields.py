"""Reads a JSON object strictly: every value by name and type; unknown keys are refused.

Errors name the file and the key.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from thisthat.errors import CheckpointError

T = TypeVar("T")


class Fields:
    """A JSON object being read; errors begin with ``where``, such as ``decision.json: prompt``."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise CheckpointError(f"{where}: expected an object, found {_kind(value)}")
        self._left: dict[str, Any] = dict(value)
        self._where = where

    @classmethod
    def from_file(cls, path: Path) -> Fields:
        """The object in a JSON file; CheckpointError when it is not readable JSON."""
        return cls(read_json(path), path.name)

    def where(self, key: str) -> str:
        """How an error about ``key`` begins."""
        return f"{self._where}: {key}"

    def __contains__(self, key: str) -> bool:
        return self._left.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty; required without a default."""
        value = self._take(key, default)
        if not isinstance(value, str) or not value:
            raise CheckpointError(f"{self.where(key)}: expected text, found {_kind(value)}")
        return value

    def optional_text(self, key: str) -> str | None:
        """A text, or None when it is missing or null."""
        if key in self:
            return self.text(key)
        self._left.pop(key, None)
        return None

    def optional_date(self, key: str) -> date | None:
        """A day written as YYYY-MM-DD, or None when it is missing or null."""
        text = self.optional_text(key)
        if text is None:
            return None
        try:
            found = date.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or found.isoformat() != text:
            raise CheckpointError(f"{self.where(key)}: expected YYYY-MM-DD, found {text!r}")
        return found

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number; required without a default."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise CheckpointError(f"{self.where(key)}: expected a number, found {_kind(value)}")
        if not math.isfinite(value):
            raise CheckpointError(f"{self.where(key)}: {value} is not a finite number")
        return float(value)

    def whole(self, key: str, least: int, default: int | None = None) -> int:
        """A whole number of at least ``least``; required without a default."""
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise CheckpointError(
                f"{self.where(key)}: expected a whole number, found {_kind(value)}"
            )
        if value < least:
            raise CheckpointError(f"{self.where(key)}: is {value}; at least {least} is needed")
        return value

    def flag(self, key: str, default: bool) -> bool:
        """A true or false."""
        value = self._take(key, default)
        if not isinstance(value, bool):
            raise CheckpointError(
                f"{self.where(key)}: expected true or false, found {_kind(value)}"
            )
        return value

    def one_of(self, key: str, allowed: Iterable[T], default: T | None = None) -> T:
        """One of the allowed values; required without a default."""
        value = self._take(key, default)
        choices = tuple(allowed)
        for choice in choices:
            if value == choice:
                return choice
        raise CheckpointError(
            f"{self.where(key)}: {value!r} is not one of {', '.join(map(repr, choices))}"
        )

    def texts(self, key: str) -> tuple[str, ...]:
        """A required list of texts."""
        value = self._take(key, None)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise CheckpointError(f"{self.where(key)}: expected a list of texts")
        return tuple(value)

    def free_list(self, key: str) -> list[Any]:
        """A required list; its items are not checked here."""
        value = self._take(key, None)
        if not isinstance(value, list):
            raise CheckpointError(f"{self.where(key)}: expected a list, found {_kind(value)}")
        return value

    def inner(self, key: str) -> Fields | None:
        """The object under ``key``, or None when it is missing or null."""
        if key not in self:
            self._left.pop(key, None)
            return None
        return Fields(self._left.pop(key), self.where(key))

    def free(self, key: str) -> dict[str, Any]:
        """An object whose content is not checked here; empty when missing."""
        value = self._left.pop(key, None) or {}
        if not isinstance(value, dict):
            raise CheckpointError(f"{self.where(key)}: expected an object, found {_kind(value)}")
        return value

    def finish(self) -> None:
        """Raise CheckpointError naming the keys that were never read."""
        if self._left:
            names = ", ".join(repr(key) for key in sorted(self._left))
            raise CheckpointError(f"{self._where}: unknown key {names}")

    def _take(self, key: str, default: object) -> object:
        value = self._left.pop(key, None)
        if value is None:
            value = default
        if value is None:
            raise CheckpointError(f"{self.where(key)}: is missing")
        return value


def read_json(path: Path) -> Any:
    """The content of a JSON file; CheckpointError names the file when it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: is not valid JSON ({error})") from error


def read_json_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file; CheckpointError names the file when there is none."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise CheckpointError(f"{path}: expected an object, found {_kind(value)}")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {repeated!r} is given twice")
    return content


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {str(value)[:40]!r}"
