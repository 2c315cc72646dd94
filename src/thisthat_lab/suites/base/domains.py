"""The kinds of record the branch families are about, with their fields, from ``domains.json``.

A field is a row: its kind, its key, its label and what that kind needs besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thisthat_lab.suites.base.fields import Day, Domain, Flag, Number, Pick, Tags
from thisthat_lab.tables import Tables


@dataclass(frozen=True)
class _Row:
    noun: str
    prefix: str
    fields: tuple[tuple[str | int | float, ...], ...]


def _values(text: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in text.split(","))


_KINDS: Mapping[str, Any] = {
    "number": Number,
    "money": lambda key, label, low, high, *rest: Number(key, label, low, high, "$", *rest),
    "pick": lambda key, label, values: Pick(key, label, _values(values)),
    "tags": lambda key, label, values: Tags(key, label, _values(values)),
    "flag": Flag,
    "day": Day,
}

ALL = tuple(
    Domain(row.noun, row.prefix, tuple(_KINDS[str(kind)](*values) for kind, *values in row.fields))
    for row in Tables(__file__).read("domains", tuple[_Row, ...])
)


def domain(noun: str) -> Domain:
    """The domain of this noun; raises KeyError."""
    for one in ALL:
        if one.noun == noun:
            return one
    raise KeyError(noun)


def domains(*nouns: str) -> tuple[Domain, ...]:
    """The domains of these nouns; raises KeyError."""
    return tuple(domain(noun) for noun in nouns)
