"""Reading fields of a JSON object with type checks, for the wire formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

from thisthat.errors import shown
from thisthat.serve.problems import Fault, Place, Problem, invalid, invalid_at

MOST_CHARACTERS = 1 << 19
"""Of a state, and of all questions together: eight for each token that a request may have."""


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
    check_count(value, least, most, (*at, name))
    return value


def check_count(values: Sized, least: int, most: int, at: Place) -> None:
    """Raise Problem (422) for too few or too many values."""
    if not least <= len(values) <= most:
        raise invalid_at(at, f"{len(values)} given; there must be {least} to {most}")


def count_values(value: Any, most: int) -> int:
    """How many values JSON has, itself included; counts no further than ``most``."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    count = 1
    for each in inner:
        if count >= most:
            break
        count += count_values(each, most - count)
    return count


def check_size(value: Any, at: Place) -> None:
    """Raise Problem (422) for JSON that is longer as text than any state a model could read."""
    if characters(value) > MOST_CHARACTERS:
        raise invalid_at(at, f"has more than {MOST_CHARACTERS} characters")


def characters(value: Any, most: int = MOST_CHARACTERS) -> int:
    """About the length of a value as text; counts little further than ``most``."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, float):
        return 20
    if not isinstance(value, (dict, list)):
        return 6 if value is None or isinstance(value, bool) else value.bit_length() // 3 + 2
    count = 2
    for each in value.items() if isinstance(value, dict) else value:
        if count > most:
            break
        inner = (len(each[0]), each[1]) if isinstance(value, dict) else (0, each)
        count += 4 + inner[0] + characters(inner[1], most - count)
    return count


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
        raise invalid_at((name,), f"is {shown(value)}; it must be one of {', '.join(known)}")
    return value


def wrong_type(at: Place, wanted: str, value: object) -> Problem:
    """422: another type was expected here."""
    return invalid([type_fault(at, wanted, value)])


def type_fault(at: Place, wanted: str, value: object) -> Fault:
    """Another type was expected here."""
    found = "null" if value is None else type(value).__name__
    return Fault(at, f"must be {wanted}, not {found}", "type_error")
