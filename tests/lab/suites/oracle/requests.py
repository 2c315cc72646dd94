"""Request bodies against a specification, as a schema or as lines of documentation."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.lab.suites.oracle import reading
from thisthat.items.item import Item

_LINE = re.compile(r"- (\w+) \((required|optional)\): (.*)")


def _accepts(rule: dict[str, Any], value: object) -> bool:
    if "enum" in rule:
        return bool(value in rule["enum"])
    kinds = {"integer": int, "boolean": bool, "string": str, "array": list}
    if type(value) is not kinds[rule["type"]]:
        return False
    if isinstance(value, str):
        return len(value) >= 1
    if isinstance(value, list):
        return len(value) <= int(rule["maxItems"])
    if type(value) is int:
        return int(rule["minimum"]) <= value <= int(rule["maximum"])
    return True


def _rule(text: str) -> dict[str, Any]:
    """A line of documentation as the schema it stands for."""
    if found := re.fullmatch(r"whole number from (\d+) to (\d+)", text):
        return {"type": "integer", "minimum": int(found[1]), "maximum": int(found[2])}
    if found := re.fullmatch(r"one of (.*)", text):
        return {"enum": found[1].split(", ")}
    if found := re.fullmatch(r"list of at most (\d+) entries", text):
        return {"type": "array", "maxItems": int(found[1])}
    return {"type": {"text, not empty": "string", "true or false (not text)": "boolean"}[text]}


def _faults(item: Item) -> tuple[list[str], list[str]]:
    """The names of the fields, and of those that are wrong or missing."""
    state = reading.loaded(item)
    if isinstance(state, str):
        lines = [found for found in map(_LINE.search, state.splitlines()) if found]
        rules = {one[1]: _rule(one[3]) for one in lines}
        required = [one[1] for one in lines if one[2] == "required"]
        start = re.search(r"(?:request|body|payload|message|input)\W{0,6}\s*(\{)", state, re.I)
        assert start is not None
        payload, _ = json.JSONDecoder().raw_decode(state, start.start(1))
    else:
        schema = state.get("specification") or state.get("schema")
        rules, required = schema["properties"], schema["required"]
        names = ("request", "body", "payload", "message", "input")
        (payload,) = [state[name] for name in names if name in state]
    wrong = [
        name
        for name, rule in rules.items()
        if (name in payload and not _accepts(rule, payload[name]))
        or (name not in payload and name in required)
    ]
    return list(rules), wrong


def request_valid(item: Item) -> int:
    """Whether the body keeps to the specification, or does not."""
    _, wrong = _faults(item)
    bad = re.search(r"rejected\?|break the spec|answer 400|missing or wrong", item.question)
    return reading.yes_no(item, {bool(wrong) is (bad is not None)})


def invalid_field(item: Item) -> int:
    """The only field that breaks the specification, or the option for none."""
    names, wrong = _faults(item)
    if wrong:
        (name,) = wrong
        return reading.option(item, name)
    (nothing,) = [place for place, (name, _) in enumerate(item.options) if name not in names]
    return nothing
