"""Records and conditions of the families with typed records, read back from every layout.

The record types are used as vocabulary only: what fields are called and which values they have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from tests.lab.suites.oracle import reading
from tests.lab.suites.oracle.branch_text import among, between, compared, flagged, includes
from tests.lab.suites.oracle.logic import Clause
from tests.lab.suites.oracle.reading import DATE, NUMBER, one_of
from tests.lab.suites.oracle.scanner import Rule, Scanner
from thisthat.items.item import Item
from thisthat_lab.suites.records.fields import (
    DateField,
    Field,
    FlagField,
    NumberField,
    PickField,
    RecordType,
    TagsField,
)

Rows = dict[str, dict[str, Any]]
_BEFORE, _AFTER = one_of(reading.BOUNDS), one_of(reading.BOUNDS_AFTER)
_DAY_BEFORE, _DAY_AFTER = one_of(reading.DAYS), one_of(reading.DAYS_AFTER)


def flat(text: str) -> str:
    """Letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _units(field: Field) -> list[str]:
    unit = field.unit if isinstance(field, NumberField) else ""
    return {"$": ["usd"], "%": ["percent"]}.get(unit, unit.replace("/", " per ").split())


def keys_of(field: Field) -> set[str]:
    """What is left of the field's key in any style when only letters and digits are kept."""
    unit = field.unit if isinstance(field, NumberField) else ""
    plain = flat(field.phrase)
    return {plain, flat(field.phrase + "".join(_units(field))), flat(field.phrase + unit)}


def read_value(field: Field, shown: Any) -> Any:
    """A value as it stands in a record; None when the record does not say."""
    if shown is None or shown in ("not recorded", "missing"):
        return None
    if isinstance(field, NumberField):
        return float(shown) if isinstance(shown, (int, float)) else reading.number(shown)
    if isinstance(field, DateField):
        return reading.day(shown)
    if isinstance(field, FlagField):
        return shown if isinstance(shown, bool) else {"yes": True, "no": False}[shown]
    if isinstance(field, TagsField):
        return tuple(re.split(r", |/", shown) if isinstance(shown, str) else shown)
    assert shown in field.values, shown
    return shown


def _amount(field: NumberField) -> str:
    if field.unit == "$":
        return rf"-?\${NUMBER}"
    if field.unit == "%":
        return rf"{NUMBER}%"
    if len(field.unit) > 4 and field.unit.endswith("s"):
        return rf"{NUMBER} {re.escape(field.unit[:-1])}s?"
    return rf"{NUMBER} {re.escape(field.unit)}" if field.unit else NUMBER


def _subject(field: Field, noun: str) -> str:
    phrase, noun = re.escape(field.phrase), re.escape(noun)
    return (
        rf"the (?:number of {phrase}|'{phrase}' date|{phrase} of the {noun}|{noun}'s {phrase}|"
        rf"{phrase})"
    )


def _symbol(field: Field) -> str:
    """The key of the field in a rule written with symbols."""
    words = [*field.phrase.replace("-", " ").replace("'", "").split(), *_units(field)]
    camel = words[0].lower() + "".join(word.capitalize() for word in words[1:])
    return f"(?:{re.escape('_'.join(words).lower())}|{re.escape(camel)})"


def _ordered_rules(field: NumberField | DateField, noun: str) -> list[Rule]:
    phrase, key, subject = field.phrase, _symbol(field), _subject(field, noun)
    read: Any
    if isinstance(field, NumberField):
        amount, read, before, after = _amount(field), reading.number, _BEFORE, _AFTER
        bare = NUMBER
        outside = (
            rf"(?:below ({amount}) or above ({amount})|outside the range ({amount}) to ({amount})|"
            rf"not from ({amount}) to ({amount}))"
        )
    else:
        amount, read, before, after = DATE, reading.day, _DAY_BEFORE, _DAY_AFTER
        bare = DATE
        outside = rf"(?:before ({amount}) or after ({amount})|not from ({amount}) to ({amount}))"
    inside = (
        rf"(?:from ({amount}) to ({amount})|between ({amount}) and ({amount}) inclusive|"
        rf"within ({amount}) to ({amount}))"
    )
    says = rf"(?:{subject} is|is {subject})"

    def compare(found: re.Match[str]) -> Clause:
        return compared(phrase, *reading.comparison(found[1], read), 1)

    def symbol(found: re.Match[str]) -> Clause:
        return compared(phrase, found[1], read(found[2]), 1)

    def ends(within: bool) -> Any:
        def make(found: re.Match[str]) -> Clause:
            low, high = (read(text) for text in found.groups() if text is not None)
            return between(phrase, low, high, within, 1)

        return make

    return [
        (rf"{says} {outside}", ends(False)),
        (rf"{says} {inside}", ends(True)),
        (rf"{says} ({before} {amount}|{amount} {after})", compare),
        (rf"{key} not in range \[({bare}), ({bare})\]", ends(False)),
        (rf"{key} in range \[({bare}), ({bare})\]", ends(True)),
        (rf"{key} (>=|>|<=|<) ({bare})", symbol),
    ]


def _pick_rules(field: PickField, noun: str) -> list[Rule]:
    key, subject = _symbol(field), _subject(field, noun)
    value = rf"{one_of(field.values)}(?! is )"
    several = rf"{value}(?:, {value})*"
    says = rf"(?:{subject} is|is {subject})"

    def picked(inside: bool, between_names: str) -> Any:
        def make(found: re.Match[str]) -> Clause:
            names = re.split(between_names, found[1].lower())
            return among(field.phrase, set(names), inside, field.values)

        return make

    return [
        (rf"{says} none of ({several})", picked(False, ", ")),
        (rf"{says} neither ({value}(?: nor {value})+)", picked(False, " nor ")),
        (rf"{says} (?:not|other than) ({value})", picked(False, "$")),
        (rf"{says} one of ({several})", picked(True, ", ")),
        (rf"{says} ({several} or {value})", picked(True, ", | or ")),
        (rf"{says} ({value})", picked(True, "$")),
        (rf"{key} not in \[({several})\]", picked(False, ", ")),
        (rf"{key} in \[({several})\]", picked(True, ", ")),
        (rf"{key} == ({value})", picked(True, "$")),
        (rf"{key} != ({value})", picked(False, "$")),
    ]


def _rules(field: Field, noun: str) -> list[Rule]:
    phrase = field.phrase
    if isinstance(field, (NumberField, DateField)):
        return _ordered_rules(field, noun)
    if isinstance(field, PickField):
        return _pick_rules(field, noun)
    if isinstance(field, FlagField):
        about = rf"the {re.escape(field.part or noun)}"
        says = rf"(?:{about} is|is {about})"
        return [
            (rf"{says} not {re.escape(field.quality)}", lambda _: flagged(phrase, False)),
            (rf"{says} {re.escape(field.quality)}", lambda _: flagged(phrase, True)),
            (rf"{_symbol(field)} == true", lambda _: flagged(phrase, True)),
            (rf"{_symbol(field)} == false", lambda _: flagged(phrase, False)),
        ]
    assert isinstance(field, TagsField)
    value, where = one_of(field.values), rf"(?:among the|listed under) {re.escape(phrase)}"

    def tagged(inside: bool) -> Any:
        return lambda found: includes(phrase, found[1].lower(), inside)

    return [
        (rf"({value}) is not {where}", tagged(False)),
        (rf"is ({value}) not {where}", tagged(False)),
        (rf"({value}) is {where}", tagged(True)),
        (rf"is ({value}) {where}", tagged(True)),
        (rf"{_symbol(field)} does not contain ({value})", tagged(False)),
        (rf"{_symbol(field)} contains ({value})", tagged(True)),
    ]


class Vocabulary:
    """One record type: how its records and the conditions on them are written."""

    def __init__(self, kind: RecordType) -> None:
        self.kind = kind
        self.keys = {key: field for field in kind.fields for key in keys_of(field)}
        noun = re.escape(kind.noun)
        name = rf"({kind.prefix}-\d+)"
        self.attributes = re.compile(rf'<{noun.replace(re.escape(" "), "-")} id="{name}" (.*) />')
        self.inline = re.compile(rf"(?:^|: ){noun} {name}:(?: (.*=.*)| ?)$")
        self.title = re.compile(rf"(?:^|: ){noun} {name}$", re.I)
        self.table = re.compile(rf"(?:^|: ){noun}( \| |,)(.*)$")
        self.prose = re.compile(
            rf"(?:This is about {noun} {name}|{noun} {name} came in as follows|"
            rf"Notes on {noun} {name}|Here is what is known of {noun} {name}|"
            rf"The file of {noun} {name} says this)\. ?(.*)$",
            re.I,
        )
        self.facts = [(field, _fact(field, kind.noun)) for field in kind.fields]
        self.known = re.compile(rf"{noun}|{noun.replace(re.escape(' '), '-')}", re.I)

    def scan(self, text: str, clauses: list[Clause]) -> str:
        """The text with tokens for its conditions."""
        return _scanner(self).scan(text, clauses)


@cache
def _scanner(vocabulary: Vocabulary) -> Scanner:
    kind = vocabulary.kind
    fields = sorted(kind.fields, key=lambda field: len(field.phrase), reverse=True)
    return Scanner([rule for field in fields for rule in _rules(field, kind.noun)])


def _fact(field: Field, noun: str) -> re.Pattern[str]:
    """A sentence of prose that states the value; its last group is the value."""
    phrase, subject = re.escape(field.phrase), _subject(field, noun)
    if isinstance(field, FlagField):
        return re.compile(
            rf"the {re.escape(field.part or noun)} is (not )?{re.escape(field.quality)}", re.I
        )
    return re.compile(
        rf"{subject} (?:is given as|comes to|is) (.+)|{phrase}: (.+)|it shows (.+) {phrase}|"
        rf"the {phrase} are (.+)|under {phrase} it lists (.+)",
        re.I,
    )


@cache
def vocabulary(kinds: tuple[RecordType, ...]) -> tuple[Vocabulary, ...]:
    return tuple(Vocabulary(kind) for kind in kinds)


class Sheet:
    """A state taken apart: the kind of its records, the records by name, and all other text."""

    def __init__(self, item: Item, known: Sequence[Vocabulary]) -> None:
        state = reading.loaded(item)
        self.rows: Rows = {}
        self.rest = ""
        if isinstance(state, str):
            likely = [one for one in known if f"{one.kind.prefix}-" in state]
            for one in likely:
                self.words = one
                self._read_text(state)
                if self.rows:
                    return
            raise AssertionError("no record in the state")
        objects = _objects(state)
        self.rest = "\n".join(text for text in _others(state) if text)
        self.words = self._kind_of(objects, item, known)
        for one_object in objects:
            self._keep(
                one_object["id"],
                {key: value for key, value in one_object.items() if key != "id"},
            )

    def _kind_of(
        self, objects: list[dict[str, Any]], item: Item, known: Sequence[Vocabulary]
    ) -> Vocabulary:
        keys = {flat(key) for one in objects for key in one if key != "id"}
        prefix = objects[0]["id"].partition("-")[0]
        fitting = [one for one in known if one.kind.prefix == prefix and keys <= set(one.keys)]
        if len(fitting) > 1:
            said = f"{item.question} {self.rest} {item.options}"
            fitting = [one for one in fitting if one.known.search(said)]
        assert len(fitting) == 1, (prefix, keys)
        return fitting[0]

    def _keep(self, name: str, shown: dict[str, Any]) -> None:
        fields = {key: self.words.keys[flat(key)] for key in shown}
        self.rows[name] = {
            fields[key].phrase: read_value(fields[key], value) for key, value in shown.items()
        }

    def _read_text(self, state: str) -> None:
        words, rest = self.words, []
        lines = state.splitlines()
        place = 0
        while place < len(lines):
            line = lines[place]
            place += 1
            if found := words.attributes.search(line):
                self._keep(found[1], dict(re.findall(r'(\w+)="([^"]*)"', found[2])))
            elif found := words.inline.search(line):
                parts = (part.partition("=") for part in (found[2] or "").split("; ") if part)
                self._keep(found[1], {key: value for key, _, value in parts})
            elif found := words.prose.search(line):
                name, text = [one for one in found.groups() if one is not None]
                self.rows[name] = self._read_prose(text)
            elif found := words.title.search(line):
                shown = {}
                while place < len(lines):
                    key, colon, value = lines[place].removeprefix("- ").partition(": ")
                    if not colon or flat(key) not in words.keys:
                        break
                    shown[key] = value
                    place += 1
                self._keep(found[1], shown)
            elif (found := words.table.search(line)) and place < len(lines):
                heads = found[2].split(found[1])
                while place < len(lines):
                    name, *cells = lines[place].split(found[1])
                    if not re.fullmatch(rf"---|{words.kind.prefix}-\d+", name):
                        break
                    if name != "---":
                        self._keep(name, dict(zip(heads, cells, strict=True)))
                    place += 1
            else:
                rest.append(line)
        self.rest = "\n".join(rest)

    def _read_prose(self, text: str) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for sentence in re.split(r"(?<=\.)\s+(?=[A-Z0-9])", text):
            bare = sentence.rstrip(".")
            found = [
                (field, match)
                for field, pattern in self.words.facts
                if (match := pattern.fullmatch(bare))
            ]
            flags = [(field, match) for field, match in found if isinstance(field, FlagField)]
            if flags:
                ((flag, match),) = flags
                record[flag.phrase] = match[1] is None
            elif bare and not re.search(r"not recorded|was left blank", bare):
                field, match = max(found, key=lambda pair: len(pair[0].phrase))
                shown = next(one for one in match.groups() if one is not None)
                record[field.phrase] = read_value(field, shown)
        return record


def _objects(state: Any) -> list[dict[str, Any]]:
    """The records of a JSON state."""
    if isinstance(state, dict) and "id" in state:
        return [state]
    inner = state.values() if isinstance(state, dict) else state
    if isinstance(state, (dict, list)):
        return [found for one in inner for found in _objects(one)]
    return []


def _others(state: Any) -> list[str]:
    """The texts of a JSON state that stand beside its records."""
    if isinstance(state, dict) and "id" not in state:
        return [value for key, value in state.items() if isinstance(value, str) and key != "notes"]
    return []
