"""Reading fields of a JSON object with type checks, for the wire formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from thisthat.serve.problems import Place, Problem, invalid_at


def required_text(body: Mapping[str, Any], name: str, at: Place = ()) -> str:
    """A required text. Raises Problem (422)."""
    value = required(body, name, at)
    if not isinstance(value, str):
        raise wrong_type((*at, name), "a text", value)
    return value


def required(body: Mapping[str, Any], name: str, at: Place = ()) -> Any:
    """A required field. Raises Problem (422)."""
    if name not in body:
        raise invalid_at((*at, name), "is missing", "missing")
    return body[name]


def required_list(
    body: Mapping[str, Any], name: str, least: int, most: int, at: Place = ()
) -> list[Any]:
    """A required list with a bounded number of entries. Raises Problem (422)."""
    value = required(body, name, at)
    if not isinstance(value, list):
        raise wrong_type((*at, name), "a list", value)
    if not least <= len(value) <= most:
        raise invalid_at((*at, name), f"{len(value)} given; there must be {least} to {most}")
    return value


def required_object(value: Any, at: Place) -> Mapping[str, Any]:
    """``value`` if it is an object. Raises Problem (422)."""
    if not isinstance(value, dict):
        raise wrong_type(at, "an object", value)
    return value


def optional_boolean(body: Mapping[str, Any], name: str) -> bool:
    """A boolean, False if it is missing or null. Raises Problem (422)."""
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise wrong_type((name,), "true or false", value)
    return value


def optional_lambda(body: Mapping[str, Any]) -> float | None:
    """λ, None if it is missing or null. Raises Problem (422)."""
    value = body.get("lambda")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(("lambda",), "a number", value)
    if not 0 <= value <= 1:
        raise invalid_at(("lambda",), f"is {str(value)[:40]}; it must lie in [0, 1]")
    return value


def one_of(body: Mapping[str, Any], name: str, known: Sequence[str]) -> Any:
    """One of the known texts, or None if it is missing or null. Raises Problem (422)."""
    value = body.get(name)
    if value is None:
        return None
    if value not in known:
        raise invalid_at((name,), f"is {value!r}; it must be one of {', '.join(known)}")
    return value


def wrong_type(at: Place, wanted: str, value: object) -> Problem:
    """422: another type was expected here."""
    found = "null" if value is None else type(value).__name__
    return invalid_at(at, f"must be {wanted}, not {found}", "type_error")
