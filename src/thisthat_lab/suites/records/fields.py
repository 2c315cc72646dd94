"""The fields a record can have, how their values are drawn, and how a value is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import MONTHS

Value: TypeAlias = "int | bool | str | tuple[str, ...] | None"
Record: TypeAlias = Mapping[str, Value]
FIRST_DAY = date(2024, 1, 1)
DAYS = 900


@dataclass(frozen=True)
class NumberField:
    """A whole number with a unit, such as a weight in kg; ``$`` goes before the number."""

    phrase: str
    unit: str
    low: int
    high: int
    step: int = 1

    def draw(self, rng: Rng) -> int:
        """A value of the range, on its step."""
        return self.low + self.step * rng.integer(0, (self.high - self.low) // self.step)


@dataclass(frozen=True)
class FlagField:
    """Something that is so or is not: the thing is "insured", or its "deposit" is "paid"."""

    part: str
    quality: str

    @property
    def phrase(self) -> str:
        """Part and quality in one phrase."""
        return f"{self.part} {self.quality}".strip()

    def draw(self, rng: Rng) -> bool:
        """A fair coin."""
        return rng.chance(0.5)


@dataclass(frozen=True)
class PickField:
    """One of a few named values."""

    phrase: str
    values: tuple[str, ...]

    def draw(self, rng: Rng) -> str:
        """One of the values."""
        return rng.choice(self.values)


@dataclass(frozen=True)
class TagsField:
    """Any subset of a few named values."""

    phrase: str
    values: tuple[str, ...]

    def draw(self, rng: Rng) -> tuple[str, ...]:
        """One or more of the values, never all of them."""
        return tuple(rng.sample(self.values, rng.integer(1, len(self.values) - 1)))


@dataclass(frozen=True)
class DateField:
    """A day, kept as the number of days since the first day of the calendar."""

    phrase: str

    def draw(self, rng: Rng) -> int:
        """A day of the calendar."""
        return rng.integer(0, DAYS)


Field: TypeAlias = "NumberField | FlagField | PickField | TagsField | DateField"


@dataclass(frozen=True)
class RecordType:
    """A kind of thing that records describe: its noun, the prefix of its ids, its fields."""

    noun: str
    prefix: str
    fields: tuple[Field, ...]

    def draw(self, rng: Rng) -> dict[str, Value]:
        """A record: a value for every field, keyed by the field's phrase."""
        return {field.phrase: field.draw(rng) for field in self.fields}

    def draw_name(self, rng: Rng) -> str:
        """An id such as ``PX-4821``."""
        return f"{self.prefix}-{rng.integer(100, 9999)}"

    def field(self, phrase: str) -> Field:
        """The field with this phrase; KeyError when there is none."""
        for field in self.fields:
            if field.phrase == phrase:
                return field
        raise KeyError(phrase)


def key_of(field: Field, style: str = "snake") -> str:
    """The field as the key of a JSON object: ``weight_kg``, ``weightKg``, ``Weight (kg)``."""
    words = field.phrase.replace("-", " ").replace("'", "").split()
    unit = field.unit if isinstance(field, NumberField) else ""
    unit_words = {"$": ["usd"], "%": ["percent"]}.get(unit, unit.replace("/", " per ").split())
    if style == "camel":
        parts = words + unit_words
        return parts[0].lower() + "".join(part.capitalize() for part in parts[1:])
    if style == "title":
        label = field.phrase[0].upper() + field.phrase[1:]
        return f"{label} ({unit})" if unit else label
    return "_".join(words + unit_words).lower()


def say_number(value: int, unit: str) -> str:
    """A number with its unit."""
    if unit == "$":
        return f"${value:,}" if value >= 0 else f"-${-value:,}"
    if unit == "%":
        return f"{value}%"
    if value == 1 and len(unit) > 4 and unit.endswith("s"):
        return f"1 {unit[:-1]}"
    return f"{value} {unit}" if unit else str(value)


def say_day(day: int, style: str = "iso") -> str:
    """A day as ``2024-03-09``, ``9 March 2024`` or ``March 9, 2024``."""
    there = FIRST_DAY + timedelta(days=day)
    if style == "iso":
        return there.isoformat()
    month = MONTHS[there.month - 1]
    if style == "day first":
        return f"{there.day} {month} {there.year}"
    return f"{month} {there.day}, {there.year}"


def say(field: Field, value: Value, day_style: str = "iso") -> str:
    """The value as text, the way a form or a log would show it."""
    if value is None:
        return "not recorded"
    if isinstance(field, NumberField) and isinstance(value, int):
        return say_number(value, field.unit)
    if isinstance(field, DateField) and isinstance(value, int):
        return say_day(value, day_style)
    if isinstance(value, tuple):
        return ", ".join(value) if value else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def read_types(entries: Iterable[str]) -> tuple[RecordType, ...]:
    """The record types of a catalogue, in the order of its entries."""
    return tuple(map(read_type, entries))


def read_type(line: str) -> RecordType:
    """A record type from one entry of a catalogue.

    ``noun PREFIX: phrase # unit low-high/step | part ~ quality ? | phrase = a, b, c |
    phrase * a, b, c | phrase @`` for a number, a flag, one of, any of, a day. A unit that the
    phrase names already is dropped. Raises ValueError for anything else.
    """
    head, _, body = line.partition(":")
    noun, _, prefix = head.strip().rpartition(" ")
    fields = tuple(_read_field(part.strip()) for part in body.split("|"))
    phrases = [field.phrase for field in fields]
    if not noun or len(set(phrases)) != len(phrases):
        raise ValueError(f"catalogue line {line!r}: no noun, or a phrase twice")
    return RecordType(noun, prefix, fields)


def _read_field(text: str) -> Field:
    if text.endswith(" ?"):
        part, found, quality = text[:-2].partition(" ~ ")
        return FlagField(part, quality) if found else FlagField("", part)
    if text.endswith(" @"):
        return DateField(text[:-2])
    for mark in ("=", "*"):
        phrase, found, values = text.partition(f" {mark} ")
        if found:
            names = tuple(name.strip() for name in values.split(","))
            if len(names) < 3:
                raise ValueError(f"catalogue field {text!r}: at least 3 values")
            return PickField(phrase, names) if mark == "=" else TagsField(phrase, names)
    phrase, found, rest = text.partition(" # ")
    if not found:
        raise ValueError(f"catalogue field {text!r}: no #, ?, =, * or @")
    *unit, span = rest.split(" ")
    if unit and unit[0] in phrase.split():
        unit = []
    low, _, high = span.partition("-")
    high, _, step = high.partition("/")
    return NumberField(phrase, " ".join(unit), int(low), int(high), int(step or 1))
