"""Stock cards, service levels and (invented) remedies: a few numbers and a short rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.lab.suites.oracle import reading
from thisthat.items.item import Item

_STOCK = ("on hand", "in stock", "units on shelf", "counted stock", "quantity available")
_HELD = ("reserved", "allocated to orders", "promised to customers", "set aside")
_COMING = ("on order", "arriving this week", "in transit", "due from supplier")
_POINT = ("reorder point", "minimum level", "trigger level", "safety stock")
_STOP = ("discontinued", "blocked for purchase", "out of season", "replaced by another item")


def _said(item: Item) -> str:
    return "\n".join([item.question, *reading.texts_in(reading.loaded(item))])


def _lines(text: str, names: Sequence[str], ends: str) -> dict[str, str]:
    """The values that stand behind these names."""
    found = {}
    for name in names:
        at = re.search(rf"(?:^|[\n;,] ?|: ){re.escape(name)}: (.*?)(?={ends}|\n|$)", text, re.I)
        if at:
            found[name] = at[1]
    return found


def _object_with(state: Any, key: str) -> dict[str, Any] | None:
    if isinstance(state, dict):
        plain = {name.replace("_", " "): value for name, value in state.items()}
        if key in plain:
            return plain
        for value in state.values():
            if found := _object_with(value, key):
                return found
    return None


def inventory_reorder(item: Item) -> int:
    """Whether the rule calls for an order, or for none."""
    state = reading.loaded(item)
    facts: dict[str, Any] | None = _object_with(state, "code")
    if facts is None:
        names = [*_STOCK, *_HELD, *_COMING, *_POINT, *_STOP]
        facts = _lines(str(state), names, ", [A-Z]")
    rule = re.search(r"Order more when (.*?) is (.*?) the [\w ]+\.(.*)", _said(item))
    assert rule is not None
    left = _one(facts, _STOCK)
    stop = _one(facts, _STOP)
    orders: set[bool]
    if re.search(r"never ordered|no order if", rule[3]) and stop in (True, "yes"):
        orders = {False}
    elif left in (None, "not counted"):
        orders = {True, False}
    else:
        amount = int(left)
        if re.search(r"minus|after taking off", rule[1]):
            amount -= int(_one(facts, _HELD))
        if re.search(r"plus|added", rule[1]):
            amount += int(_one(facts, _COMING))
        point = int(_one(facts, _POINT))
        at_too = {"at or below": True, "no more than": True, "below": False, "less than": False}
        orders = {amount < point + at_too[rule[2]]}
    leave = re.search(
        r"can wait|Can the order .* wait|no need to order|leave this item|sufficient", item.question
    )
    return reading.yes_no(item, {one is (leave is None) for one in orders})


def _one(facts: dict[str, Any], names: Sequence[str]) -> Any:
    found = [facts[name] for name in names if name in facts]
    return found[0] if found else None


def sla_breach(item: Item) -> int:
    """Whether the time that counts is over the limit of the class, or not."""
    state = reading.loaded(item)
    said = _said(item)
    limits: dict[str, int]
    if isinstance(state, str):
        names = re.findall(r"(?:^|[\n;] ?|: )([A-Z][\w ]+ at|Minutes until [\w ]+): ", state)
        known = ["class", "handled by", "minutes on hold", *(name.lower() for name in names)]
        facts: dict[str, Any] = {
            name: None if value == "not recorded" else value
            for name, value in _lines(state, known, ";").items()
        }
        found = re.findall(
            r"([\w ]+): [\w ]+? (?:within|no later than|in at most) (\d+) minutes", state
        )
        limits = {rank.strip(): int(limit) for rank, limit in found}
    else:
        (table,) = [value for key, value in state.items() if key.endswith("limits")]
        limits = {rank: int(text.split()[0]) for rank, text in table.items()}
        facts = _object_with(state, "handled by") or {}
    counts = re.search(r"on the customer counts|clock never stops", said) is not None
    assert counts != (re.search(r"on hold is not counted|Take off the minutes", said) is not None)
    taken = _taken(facts)
    late = re.search(r"missed|too late|a breach|exceeded", item.question) is not None
    if taken is None:
        return reading.yes_no(item, {True, False})
    taken -= 0 if counts else int(facts.get("minutes on hold") or 0)
    rank = facts.get("class")
    possible = limits.values() if len(limits) == 1 or rank is None else [limits[rank]]
    return reading.yes_no(item, {(taken > limit) is late for limit in possible})


def _taken(facts: dict[str, Any]) -> int | None:
    (key,) = [
        key
        for key in facts
        if key.startswith("minutes until") or (key.endswith(" at") and key != "opened at")
    ]
    if facts[key] is None:
        return None
    if key.startswith("minutes until"):
        return int(facts[key])
    # Past midnight the clock starts again.
    return (reading.clock(facts[key]) - reading.clock(facts["opened at"])) % (24 * 60)


def safety_check(item: Item) -> int:
    """Whether every rule in force is kept."""
    state = reading.loaded(item)
    said = _said(item)
    facts = _object_with(state, "dose in drops")
    if facts is None:
        name = re.search(r"(\w+) clashes with: ", str(state))
        assert name is not None
        keys = ["contains", "reacts to", "already taken", "dose in drops", "weight in stones"]
        facts = _lines(str(state), [*keys, name[0][:-2]], ";")
    contains, taken = _names(facts["contains"]), _names(facts["already taken"])
    (clashes,) = [_names(value) for key, value in facts.items() if key.endswith("clashes with")]
    kept: list[bool | None] = []
    if re.search(r"Nothing in it may be on the list|must not contain anything", said):
        allergies = facts["reacts to"]
        unknown = allergies == "not recorded"
        kept.append(None if unknown else not contains & _names(allergies))
    if re.search(r"must not meet a preparation|already taken is on its clash list", said):
        kept.append(not taken & clashes)
    rate = re.search(r"(?:at most|Up to) (\d+) drops (?:for each|per) stone of weight", said)
    if rate:
        kept.append(int(facts["dose in drops"]) <= int(rate[1]) * int(facts["weight in stones"]))
    assert kept
    withheld = re.search(r"withheld\?|forbid giving|that this breaks|kept back", item.question)
    possible = {all(one is not False if guess else one for one in kept) for guess in (True, False)}
    return reading.yes_no(item, {one is (withheld is None) for one in possible})


def _names(value: Any) -> set[str]:
    return set(re.split(r", | and ", value)) if isinstance(value, str) else set(value)
