"""Records and conditions of the families with domains: read back from lines, prose, tables, JSON.

The domains are used as vocabulary only: what fields are called and which values they can have.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from tests.lab.suites.oracle import reading
from tests.lab.suites.oracle.logic import Clause
from tests.lab.suites.oracle.reading import COMPARE, DATE, NUMBER, one_of
from tests.lab.suites.oracle.scanner import Rule, Scanner
from thisthat.items.item import Item
from thisthat_lab.suites.base.domains import ALL
from thisthat_lab.suites.base.fields import Day, Domain, Field, Flag, Number, Pick, Tags
from thisthat_lab.suites.base.wording import HEADINGS

BLANK = ("not recorded", "unknown", "pending", "(blank)", "n/a")
_BEFORE = one_of(reading.BOUNDS)
_AFTER = one_of(reading.BOUNDS_AFTER)
_DAY_BEFORE = one_of(reading.DAYS)
_DAY_AFTER = one_of(reading.DAYS_AFTER)


def key_of(text: str) -> str:
    return text.lower().replace(" ", "_").replace("-", "_")


def _quantity(field: Number) -> str:
    if field.unit == "$":
        return rf"\${NUMBER}"
    if field.unit == "%":
        return rf"{NUMBER}(?:%| percent)"
    return rf"{NUMBER} {re.escape(field.unit)}" if field.unit else NUMBER


def compared(field: str, sign: str, limit: float, unit: float) -> Clause:
    test = COMPARE[sign]
    return Clause(field, lambda value: test(value, limit), (limit - unit, limit, limit + unit))


def between(field: str, low: float, high: float, inside: bool, unit: float) -> Clause:
    tries = (low - unit, low, high, high + unit)
    return Clause(field, lambda value: (low <= value <= high) is inside, tries)


def among(field: str, wanted: set[str], inside: bool, known: tuple[str, ...]) -> Clause:
    return Clause(field, lambda value: (value.lower() in wanted) is inside, known)


def includes(field: str, tag: str, inside: bool) -> Clause:
    return Clause(
        field,
        lambda value: (tag in {one.lower() for one in value}) is inside,
        ((), (tag,)),
    )


def flagged(field: str, wanted: bool) -> Clause:
    return Clause(field, lambda value: value is wanted, (True, False))


def _number_rules(field: Number) -> list[Rule]:
    key, amount, unit = field.key, _quantity(field), 10.0**-field.decimals
    subject = rf"(?:the )?{re.escape(field.label)}"

    def compare(found: re.Match[str]) -> Clause:
        return compared(key, *reading.comparison(found[1], reading.number), unit)

    def ends(inside: bool) -> Any:
        return lambda found: between(
            key, reading.number(found[1]), reading.number(found[2]), inside, unit
        )

    return [
        (rf"{subject} is between ({amount}) and ({amount}) inclusive", ends(True)),
        (rf"{subject} lies from ({amount}) to ({amount}), both ends included", ends(True)),
        (rf"{subject} is in the range ({amount}) to ({amount})", ends(True)),
        (rf"{subject} is outside the range ({amount}) to ({amount})", ends(False)),
        (rf"{subject} is not within ({amount}) to ({amount})", ends(False)),
        (rf"{subject} does not lie between ({amount}) and ({amount})", ends(False)),
        (rf"{subject} is ({_BEFORE} {amount}|{amount} {_AFTER})", compare),
    ]


def _rules(field: Field) -> list[Rule]:
    key, label = field.key, re.escape(field.label)
    if isinstance(field, Number):
        return _number_rules(field)
    if isinstance(field, Day):
        when = rf"({_DAY_BEFORE} {DATE}|{DATE} {_DAY_AFTER})"
        return [
            (
                rf"(?:the )?{label} (?:is|falls) {when}",
                lambda found: compared(key, *reading.comparison(found[1], reading.day), 1),
            )
        ]
    if isinstance(field, Flag):
        return [
            (label, lambda _: flagged(key, True)),
            (re.escape(field.denial), lambda _: flagged(key, False)),
        ]
    assert isinstance(field, (Pick, Tags))
    value = one_of(field.values)
    if isinstance(field, Pick):
        listed = rf"(one of \({value}(?:, {value})*\)|{value})"

        def picked(inside: bool) -> Any:
            def read(found: re.Match[str]) -> Clause:
                names = found[1].lower()
                if names.startswith("one of ("):
                    names = names[8:-1]
                return among(key, set(names.split(", ")), inside, field.values)

            return read

        return [
            (
                rf"(?:the )?{label} is (?:not|anything but|something other than) {listed}",
                picked(False),
            ),
            (rf"(?:the )?{label} is {listed}", picked(True)),
        ]

    def tagged(inside: bool) -> Any:
        return lambda found: includes(key, found[1].lower(), inside)

    return [
        (rf"({value}) is not among the {label}", tagged(False)),
        (rf"({value}) is missing from the {label}", tagged(False)),
        (rf"the {label} do not include ({value})", tagged(False)),
        (rf"({value}) is among the {label}", tagged(True)),
        (rf"the {label} include ({value})", tagged(True)),
    ]


def scanner(domain: Domain) -> Scanner:
    """Conditions on this domain's fields."""
    return _scanner(ByName(domain))


class ByName:
    """A domain that is told from others by its name, so that looking it up is quick."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def __hash__(self) -> int:
        return hash(self.domain.noun)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByName) and self.domain.noun == other.domain.noun


@cache
def _scanner(named: ByName) -> Scanner:
    """Longer statements are tried first."""
    fields = sorted(named.domain.fields, key=lambda field: len(field.label), reverse=True)
    return Scanner([rule for field in fields for rule in _rules(field)])


def json_clause(condition: dict[str, Any], domain: Domain) -> Clause:
    """A condition in its JSON form."""
    field = domain.field(condition["field"])
    key, sign, value = field.key, condition["op"], condition["value"]
    if sign in ("between", "not between"):
        assert isinstance(field, Number)
        return between(key, value[0], value[1], sign == "between", 10.0**-field.decimals)
    if sign in COMPARE:
        limit = reading.day(value) if isinstance(field, Day) else value
        return compared(key, sign, limit, 10.0 ** -getattr(field, "decimals", 0))
    if sign == "==":
        return flagged(key, value)
    if sign in ("contains", "lacks"):
        return includes(key, value.lower(), sign == "contains")
    assert isinstance(field, Pick)
    return among(key, {one.lower() for one in value}, sign == "in", field.values)


def read_value(field: Field, shown: Any) -> Any:
    """A value as it stands in a record; None when the record does not say."""
    if shown is None or (shown in BLANK and shown not in getattr(field, "values", ())):
        return None
    if isinstance(field, Number):
        return float(shown) if isinstance(shown, (int, float)) else reading.number(shown)
    if isinstance(field, Day):
        return reading.day(shown)
    if isinstance(field, Flag):
        return shown if isinstance(shown, bool) else {"yes": True, "no": False}[shown]
    if isinstance(field, Tags):
        if isinstance(shown, list):
            return tuple(shown)
        return () if shown == "none" else tuple(shown.split(", "))
    assert isinstance(field, Pick)
    assert shown in field.values, shown
    return shown


def _flat(state: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for key, value in state.items():
        if isinstance(value, dict):
            merged |= _flat(value)
        else:
            merged[key] = value
    return merged


class Page:
    """A state taken apart: the domain of its record, the facts, and what else it says.

    ``policies`` are the texts and JSON values that are neither the record nor idle.
    """

    def __init__(self, item: Item) -> None:
        self.record: dict[str, Any] = {}
        self.policies: list[Any] = []
        if isinstance(item.state, dict):
            self._read_object(item.state)
        else:
            assert isinstance(item.state, str)
            self._read_text(item.state)

    def _read_object(self, state: dict[str, Any]) -> None:
        for domain in ALL:
            key = key_of(domain.noun)
            if isinstance(state.get(key), dict) and str(state[key].get("id")).startswith(
                domain.prefix
            ):
                self.domain, record = domain, _flat(state[key])
                self.policies = [value for name, value in state.items() if name != key]
                break
            if state.get("type") == domain.noun and "id" in state:
                self.domain, record = domain, state
                break
        else:
            raise AssertionError("no record in the state")
        for field in self.domain.fields:
            self.record[field.key] = read_value(field, record.get(field.key))

    def _read_text(self, state: str) -> None:
        blocks = blocks_of(state)
        likely = [domain for domain in ALL if f"{domain.prefix}-" in state]
        found = [
            (block, domain)
            for block in blocks
            for domain in likely
            if _shown(domain.noun, domain.prefix).search(block)
        ]
        (block, self.domain), *others = found
        assert not others, found
        self._read_block(block)
        self.policies = [one for one in blocks if one is not block and not is_idle(one)]

    def _read_block(self, block: str) -> None:
        lines = block.splitlines()
        captions = {field.key.replace("_", " ").capitalize(): field for field in self.domain.fields}
        keys = {field.key: field for field in self.domain.fields}
        for line in lines:
            name, found, shown = line.partition(": ")
            if found and name in captions:
                self._keep(captions[name], shown)
            cells = line.strip("| ").split(" | ")
            if line.startswith("| ") and cells[0] in captions:
                self._keep(captions[cells[0]], cells[1])
            if line.startswith(f"{key_of(self.domain.noun)}={self.domain.prefix}-"):
                for part in line.split("; ")[1:]:
                    name, _, shown = part.partition("=")
                    self._keep(keys[name], shown)
        for sentence in re.split(r"(?<=\.)\s+(?=[A-Z0-9])", " ".join(lines)):
            self._read_sentence(sentence.rstrip("."))

    def _read_sentence(self, sentence: str) -> None:
        for field in self.domain.fields:
            if isinstance(field, Flag) and sentence.lower() in (
                field.label.lower(),
                field.denial.lower(),
            ):
                self._keep(field, "yes" if sentence.lower() == field.label.lower() else "no")
                return
        for field, pattern in _sentences(ByName(self.domain)):
            found = pattern.fullmatch(sentence)
            if found and field.key not in self.record:
                self._keep(field, next(text for text in found.groups() if text is not None))

    def _keep(self, field: Field, shown: str) -> None:
        value = read_value(field, shown)
        assert self.record.get(field.key, value) == value, (field, shown, self.record)
        self.record[field.key] = value


@cache
def _shown(noun: str, prefix: str) -> re.Pattern[str]:
    """What only the section of a record has: its noun and identifier in one of the layouts."""
    name, key = rf"{prefix}-\d+", key_of(noun)
    noun = re.escape(noun)
    return re.compile(
        rf"(?:^|\n){noun} {name}(?:\n|$)|\bThis is {noun} {name}\.|\| id \| {name} \||"
        rf"(?:^|\n){key}={name};",
        re.I,
    )


@cache
def _sentences(named: ByName) -> list[tuple[Field, re.Pattern[str]]]:
    """How prose states the facts that are not flags."""
    found = []
    for field in named.domain.fields:
        label = re.escape(field.label)
        if not isinstance(field, Flag):
            pattern = (
                rf"the {label} (?:is|are) (?P<a>.+)|(?:listed )?{label}: (?P<b>.+)|"
                rf"we have (?P<c>.+) as the {label}|the {label} on file is (?P<d>.+)"
            )
            found.append((field, re.compile(pattern, re.I)))
    return found


def blocks_of(state: str) -> list[str]:
    """The sections of a text state."""
    return [block.strip() for block in state.split("\n\n")]


def is_idle(block: str) -> bool:
    """Whether a section is one of those that decide nothing, by its heading."""
    heading = block.split("\n")[0].strip("#[]: ").lower()
    return heading in {one.lower() for one in HEADINGS}
