"""People, companies and things with identifying fields, and records of them that vary.

A value can be written in several ways that still agree (case, spaces, date and phone formats)
and has near misses that do not. Shared by the families about matching records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base import wording
from thisthat_lab.tables import Tables

SAME_MEANING = "Capital letters, spaces, punctuation and date formats do not count as differences."


@dataclass(frozen=True)
class Trait:
    """One identifying field: its key, its plural in a sentence, how to draw and write it."""

    key: str
    plural: str
    draw: Callable[[Rng], Any]
    write: Callable[[Any, Rng], str]


@dataclass(frozen=True)
class Kind:
    """A kind of thing with its traits."""

    noun: str
    prefix: str
    traits: tuple[Trait, ...]

    def trait(self, key: str) -> Trait:
        """The trait with this key; raises KeyError."""
        for trait in self.traits:
            if trait.key == key:
                return trait
        raise KeyError(key)


def near_miss(value: Any, trait: Trait, rng: Rng) -> Any:
    """A different value: one character off, or another one altogether."""
    if isinstance(value, date):
        return value + timedelta(days=rng.choice((-1, 1, 10, 31, 365)))
    text = str(value)
    digits = [place for place, character in enumerate(text) if character.isdigit()]
    if digits and rng.chance(0.7):
        place = rng.choice(digits)
        other = str((int(text[place]) + rng.integer(1, 9)) % 10)
        return text[:place] + other + text[place + 1 :]
    while (drawn := trait.draw(rng)) == value:
        pass
    return drawn


def _digits(pattern: str) -> Callable[[Rng], str]:
    def draw(rng: Rng) -> str:
        return "".join(str(rng.below(10)) if mark == "#" else mark for mark in pattern)

    return draw


def _from(values: tuple[str, ...]) -> Callable[[Rng], str]:
    def draw(rng: Rng) -> str:
        return rng.choice(values)

    return draw


def _email(rng: Rng) -> str:
    first, last = rng.choice(wording.FIRST_NAMES), rng.choice(wording.LAST_NAMES)
    site = rng.choice(("mail", "post", "inbox", "office"))
    return f"{first}.{last}{rng.below(90)}@{site}.example".lower()


def _site(rng: Rng) -> str:
    return f"{rng.choice(wording.LAST_NAMES)}-{rng.choice(wording.CITIES)}.example".lower()


def _any_case(value: Any, rng: Rng) -> str:
    text = str(value)
    return rng.choice((text, text, text.upper(), text.lower()))


def _name(value: Any, rng: Rng) -> str:
    first, _, last = str(value).partition(" ")
    return rng.choice((f"{first} {last}", f"{last}, {first}", f"{first} {last}".upper()))


def _spaced(value: Any, rng: Rng) -> str:
    text = str(value)
    gap = rng.choice(("", " ", "-", "."))
    return gap.join(text[place : place + 3] for place in range(0, len(text), 3))


_TABLES = Tables(__file__)
_DRAWS: dict[str, Callable[[Rng], Any]] = {
    "person": wording.person,
    "email": _email,
    "site": _site,
    "day": wording.day,
    "cities": _from(wording.CITIES),
    "companies": _from(wording.COMPANIES),
    "products": _from(wording.PRODUCTS),
    "last_names": _from(wording.LAST_NAMES),
    "colours": _from(_TABLES.words("colours")),
    "makes": _from(_TABLES.words("makes")),
}
_WRITES = {"name": _name, "any_case": _any_case, "spaced": _spaced, "date": wording.show_date}
_Rows = tuple[tuple[str, str, tuple[tuple[str, str, str, str], ...]], ...]


def _trait(key: str, plural: str, draw: str, write: str) -> Trait:
    """``draw`` is a name, or a pattern in which # is a digit."""
    return Trait(key, plural, _DRAWS.get(draw) or _digits(draw), _WRITES[write])


KINDS = tuple(
    Kind(noun, prefix, tuple(_trait(*row) for row in traits))
    for noun, prefix, traits in _TABLES.read("kinds", _Rows)
)
