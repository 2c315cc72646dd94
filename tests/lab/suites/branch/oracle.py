"""A second, slow reading of what a state says, written without the suite's own code."""

from __future__ import annotations

import operator
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
