"""The JSON schemas that the OpenAPI document publishes, from the file beside this one.

In that file a text such as ``"@question"`` stands for the schema of that name.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]


def schema(name: str, **properties: Schema) -> Schema:
    """The schema of that name, with further properties."""
    found: Schema = _filled_in(_written()[name])
    return {**found, "properties": {**properties, **found["properties"]}} if properties else found


@cache
def _written() -> dict[str, Any]:
    text = files(__package__).joinpath("schemas.json").read_text(encoding="utf-8")
    written: dict[str, Any] = json.loads(text)
    return written


def _filled_in(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled_in(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled_in(each) for each in value]
    if isinstance(value, str) and value.startswith("@"):
        return _filled_in(_written()[value[1:]])
    return value
