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


def _person_name(rng: Rng) -> str:
    return wording.person(rng)


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


def _date(value: Any, rng: Rng) -> str:
    return wording.show_date(value, rng)


_COLOURS = ("black", "white", "red", "green", "silver", "navy", "beige", "orange")
_MAKES = ("Volvo", "Toyota", "Skoda", "Renault", "Mazda", "Ford", "Kia", "Tata")
_PHONE = Trait("phone", "phone numbers", _digits("0#########"), _spaced)

KINDS = (
    Kind(
        "customer",
        "CUS",
        (
            Trait("name", "names", _person_name, _name),
            Trait("email", "email addresses", _email, _any_case),
            _PHONE,
            Trait("birth_date", "dates of birth", wording.day, _date),
            Trait("city", "cities", _from(wording.CITIES), _any_case),
            Trait("passport", "passport numbers", _digits("K#######"), _spaced),
        ),
    ),
    Kind(
        "company",
        "COM",
        (
            Trait("legal_name", "legal names", _from(wording.COMPANIES), _any_case),
            Trait("tax_number", "tax numbers", _digits("#########"), _spaced),
            Trait("website", "websites", _site, _any_case),
            _PHONE,
            Trait("postcode", "postcodes", _digits("#####"), _any_case),
            Trait("founded", "founding dates", wording.day, _date),
        ),
    ),
    Kind(
        "product listing",
        "PRD",
        (
            Trait("title", "titles", _from(wording.PRODUCTS), _any_case),
            Trait("barcode", "barcodes", _digits("#############"), _spaced),
            Trait("brand", "brands", _from(wording.LAST_NAMES), _any_case),
            Trait("colour", "colours", _from(_COLOURS), _any_case),
            Trait("model_number", "model numbers", _digits("MX####"), _spaced),
        ),
    ),
    Kind(
        "vehicle",
        "VEH",
        (
            Trait("plate", "plates", _digits("AB##CD"), _spaced),
            Trait("chassis_number", "chassis numbers", _digits("WV########"), _spaced),
            Trait("make", "makes", _from(_MAKES), _any_case),
            Trait("paint", "paint colours", _from(_COLOURS), _any_case),
            Trait("first_registered", "dates of first registration", wording.day, _date),
        ),
    ),
    Kind(
        "patient",
        "PAT",
        (
            Trait("patient_name", "patient names", _person_name, _name),
            Trait("insurance_number", "insurance numbers", _digits("A#########"), _spaced),
            Trait("date_of_birth", "dates of birth", wording.day, _date),
            Trait("family_doctor", "family doctors", _person_name, _name),
            Trait("town", "towns", _from(wording.CITIES), _any_case),
        ),
    ),
)
