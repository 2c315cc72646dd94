"""The facts a record can carry: numbers, dates, picks from a list, flags, tag lists.

A field knows how its value reads in text and in JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, TypeAlias

from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import day, show_date
from thisthat_lab.tables import Tables

Value: TypeAlias = "int | float | str | bool | date | tuple[str, ...] | None"
Record: TypeAlias = Mapping[str, Value]
BLANK = "not recorded"
_TABLES = Tables(__file__)
_STATED = _TABLES.words("stated")
_LISTED = _TABLES.words("listed")


@dataclass(frozen=True)
class Field:
    """A named fact. ``label`` is a noun phrase, ``key`` its name in JSON."""

    key: str
    label: str

    def draw(self, rng: Rng) -> Value:
        """A value with nothing special about it."""
        raise NotImplementedError

    def show(self, value: Any, rng: Rng) -> str:
        """The value as it stands in text."""
        return BLANK if value is None else str(value)

    def plain(self, value: Any) -> Any:
        """The value as it stands in JSON."""
        return value

    def sentence(self, value: Any, rng: Rng) -> str:
        """A clause that states the fact, without capital letter and final stop."""
        if value is None:
            return rng.choice((f"no {self.label} is on file", f"the {self.label} was left blank"))
        shown = self.show(value, rng)
        return rng.choice(_STATED).format(label=self.label, shown=shown)


@dataclass(frozen=True)
class Number(Field):
    """A quantity from ``low`` to ``high``; the unit is "$", "%" or a word that follows."""

    low: float
    high: float
    unit: str = ""
    decimals: int = 0

    def draw(self, rng: Rng) -> Value:
        """Uniform over the range."""
        return self.tidy(self.low + rng.uniform() * (self.high - self.low))

    def tidy(self, value: float) -> int | float:
        """The nearest value this field can take."""
        value = max(self.low, value)
        return round(value, self.decimals) if self.decimals else round(value)

    def show(self, value: Any, rng: Rng) -> str:
        """With its unit; thousands separated or not."""
        if value is None:
            return BLANK
        comma = "," if rng.chance(0.5) else ""
        digits = f"{value:{comma}.{self.decimals}f}"
        if self.unit == "$":
            return f"${digits}"
        if self.unit == "%":
            return f"{digits}%" if rng.chance(0.6) else f"{digits} percent"
        return f"{digits} {self.unit}".strip()


@dataclass(frozen=True)
class Day(Field):
    """A calendar date."""

    def draw(self, rng: Rng) -> Value:
        """Any day of the period the suite plays in."""
        return day(rng)

    def show(self, value: Any, rng: Rng) -> str:
        """ISO, or with the month in words."""
        return BLANK if value is None else show_date(value, rng)

    def plain(self, value: Any) -> Any:
        """ISO text."""
        return None if value is None else value.isoformat()


@dataclass(frozen=True)
class Pick(Field):
    """One of several named values."""

    values: tuple[str, ...]

    def draw(self, rng: Rng) -> Value:
        """Any of the values."""
        return rng.choice(self.values)


@dataclass(frozen=True)
class Flag(Field):
    """Something that is so or not; ``label`` says that it is, ``denial`` that it is not."""

    denial: str

    def draw(self, rng: Rng) -> Value:
        """A coin."""
        return rng.chance(0.5)

    def show(self, value: Any, rng: Rng) -> str:
        """``yes`` or ``no``."""
        return BLANK if value is None else ("yes" if value else "no")

    def sentence(self, value: Any, rng: Rng) -> str:
        """The statement or its denial."""
        if value is None:
            return f"it is not recorded whether {self.label}"
        return self.label if value else self.denial


@dataclass(frozen=True)
class Tags(Field):
    """A list of named things, possibly empty."""

    values: tuple[str, ...]

    def draw(self, rng: Rng) -> Value:
        """Up to three of the values."""
        return tuple(rng.sample(self.values, rng.below(4)))

    def show(self, value: Any, rng: Rng) -> str:
        """A comma-separated list."""
        if value is None:
            return BLANK
        return ", ".join(value) if value else "none"

    def sentence(self, value: Any, rng: Rng) -> str:
        """The list after its label, which is a plural."""
        shown = self.show(value, rng)
        return rng.choice(_LISTED).format(label=self.label, shown=shown)

    def plain(self, value: Any) -> Any:
        """A JSON list."""
        return None if value is None else list(value)


@dataclass(frozen=True)
class Domain:
    """A kind of record: what it is called, the prefix of its identifiers, its fields."""

    noun: str
    prefix: str
    fields: tuple[Field, ...]

    def field(self, key: str) -> Field:
        """The field with this key; raises KeyError."""
        for field in self.fields:
            if field.key == key:
                return field
        raise KeyError(key)
