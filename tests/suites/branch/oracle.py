"""A second, slow reading of what a state says, written without the suite's own code."""

from __future__ import annotations

import operator
import re
from typing import Any

_SIGNS = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "in": lambda value, listed: value in listed,
    "not in": lambda value, listed: value not in listed,
    "contains": lambda value, tag: tag in value,
    "lacks": lambda value, tag: tag not in value,
    "between": lambda value, ends: ends[0] <= value <= ends[1],
    "not between": lambda value, ends: value < ends[0] or value > ends[1],
}


def condition_truth(condition: dict[str, Any], record: dict[str, Any]) -> bool:
    """One condition, or a nested rule, on a record whose facts are all known."""
    if "field" not in condition:
        return rule_truth(condition, record)
    return bool(_SIGNS[condition["op"]](record[condition["field"]], condition["value"]))


def rule_truth(rule: dict[str, Any], record: dict[str, Any]) -> bool:
    """A rule in JSON form on a record whose facts are all known."""
    if "at_least" in rule:
        return sum(condition_truth(one, record) for one in rule["of"]) >= rule["at_least"]
    if "unless" in rule and condition_truth(rule["unless"], record):
        return False
    if "all" in rule:
        return all(condition_truth(one, record) for one in rule["all"])
    return any(condition_truth(one, record) for one in rule["any"])


def first_match(table: dict[str, Any], record: dict[str, Any]) -> str:
    """The name a table of ordered rules, or of counted conditions, gives."""
    if "count" in table:
        levels = next(value for key, value in table.items() if key != "count")
        held = sum(condition_truth(one, record) for one in table["count"])
        return str(levels[str(held)])
    for line in table["first_match"]:
        if rule_truth(line["when"], record):
            return str(next(value for key, value in line.items() if key != "when"))
    return str(table["default"])


def flat(state: dict[str, Any]) -> dict[str, Any]:
    """Every field of a JSON state in one object; inner ones win."""
    merged: dict[str, Any] = {}
    for key, value in state.items():
        if isinstance(value, dict) and "first_match" not in value and "when" not in value:
            merged.update(flat(value))
        else:
            merged.setdefault(key, value)
    return merged


def minutes(clock: str) -> int:
    """``14:30`` or ``2:30 pm`` as minutes since midnight."""
    found = re.fullmatch(r"(\d+):(\d+)(?: (am|pm))?", clock)
    assert found is not None
    hour, minute, half = int(found[1]), int(found[2]), found[3]
    if half is not None:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour * 60 + minute
