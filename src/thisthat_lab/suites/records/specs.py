"""Small specifications of a request body, payloads that keep to them, and ways to break them.

A specification is a list of parameters with types and limits; ``fault`` checks a payload
against it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thisthat.questions import compact_json
from thisthat.rng import Rng
from thisthat_lab.tables import Tables


@dataclass(frozen=True)
class Parameter:
    """One field of a request: its type and the limits that go with it.

    ``low`` and ``high`` bound an integer, ``high`` the length of a list; ``allowed`` are the
    values of an enumeration. Text may be anything but empty.
    """

    name: str
    kind: str
    required: bool
    low: int = 0
    high: int = 0
    allowed: tuple[str, ...] = ()

    def accepts(self, value: object) -> bool:
        """Whether the value keeps to the type and the limits."""
        if self.kind == "boolean":
            return isinstance(value, bool)
        if self.kind == "integer":
            whole = isinstance(value, int) and not isinstance(value, bool)
            return whole and self.low <= int(str(value)) <= self.high
        if self.kind == "enum":
            return value in self.allowed
        if self.kind == "list":
            return isinstance(value, list) and len(value) <= self.high
        return isinstance(value, str) and bool(value)


_TABLES = Tables(__file__)
INTEGERS = _TABLES.read("integers", tuple[tuple[str, int, int], ...])
ENUMS = _TABLES.read("enums", tuple[tuple[str, tuple[str, ...]], ...])
BOOLEANS = _TABLES.words("booleans")
STRINGS = _TABLES.words("strings")
LISTS = ("tags", "items", "recipients", "scopes", "attachments", "columns", "rooms")
WORDS = _TABLES.words("words")


def draw_spec(rng: Rng, size: int) -> tuple[Parameter, ...]:
    """``size`` parameters with different names and fresh limits."""
    found: dict[str, Parameter] = {}
    while len(found) < size:
        kind = rng.weighted(("integer", "enum", "boolean", "string", "list"), (4, 4, 2, 2, 1))
        required = rng.chance(0.6)
        if kind == "integer":
            name, low, high = rng.choice(INTEGERS)
            low = rng.integer(low, low + (high - low) // 3)
            high = rng.integer(low + 3, max(low + 3, high))
            parameter = Parameter(name, kind, required, low, high)
        elif kind == "enum":
            name, values = rng.choice(ENUMS)
            allowed = tuple(rng.sample(values, rng.integer(2, len(values) - 1)))
            parameter = Parameter(name, kind, required, allowed=allowed)
        elif kind == "string":
            parameter = Parameter(rng.choice(STRINGS), kind, required)
        elif kind == "list":
            parameter = Parameter(rng.choice(LISTS), kind, required, 0, rng.integer(1, 5))
        else:
            parameter = Parameter(rng.choice(BOOLEANS), kind, required)
        found.setdefault(parameter.name, parameter)
    return tuple(found.values())


def draw_payload(rng: Rng, spec: Sequence[Parameter]) -> dict[str, Any]:
    """A payload that keeps to the specification; optional fields are there or not."""
    return {
        parameter.name: _good(rng, parameter)
        for parameter in spec
        if parameter.required or rng.chance(0.7)
    }


def _good(rng: Rng, parameter: Parameter) -> Any:
    if parameter.kind == "integer":
        edge = rng.chance(0.3)
        ends = (parameter.low, parameter.high)
        return rng.choice(ends) if edge else rng.integer(parameter.low, parameter.high)
    if parameter.kind == "enum":
        return rng.choice(parameter.allowed)
    if parameter.kind == "boolean":
        return rng.chance(0.5)
    if parameter.kind == "list":
        return rng.sample(WORDS, rng.integer(0, parameter.high))
    return " ".join(rng.sample(WORDS, rng.integer(1, 3)))


def break_field(rng: Rng, parameter: Parameter, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload with this one field narrowly wrong: out of range, of another type, missing."""
    broken = dict(payload)
    if parameter.required and rng.chance(0.25):
        broken.pop(parameter.name, None)
        return broken
    broken[parameter.name] = _bad(rng, parameter)
    return broken


def _bad(rng: Rng, parameter: Parameter) -> Any:
    if parameter.kind == "integer":
        if rng.chance(0.3):
            return str(rng.integer(parameter.low, parameter.high))
        over = parameter.high + rng.integer(1, 4)
        under = parameter.low - rng.integer(1, 4)
        return over if rng.chance(0.5) or under < 0 else under
    if parameter.kind == "enum":
        known = next(values for name, values in ENUMS if name == parameter.name)
        return rng.choice([value for value in known if value not in parameter.allowed])
    if parameter.kind == "boolean":
        return rng.choice(("true", "false"))
    if parameter.kind == "list":
        return rng.sample(WORDS, parameter.high + rng.integer(1, 2))
    return rng.choice(("", rng.integer(2, 900), [rng.choice(WORDS)]))


def fault(spec: Sequence[Parameter], payload: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the fields that break the specification, in its order."""
    return tuple(
        parameter.name
        for parameter in spec
        if (
            not parameter.accepts(payload[parameter.name])
            if parameter.name in payload
            else parameter.required
        )
    )


def spec_as_schema(spec: Sequence[Parameter]) -> dict[str, Any]:
    """The specification in the manner of JSON Schema."""
    properties: dict[str, Any] = {}
    for parameter in spec:
        entry: dict[str, Any] = {"type": parameter.kind}
        if parameter.kind == "integer":
            entry.update(minimum=parameter.low, maximum=parameter.high)
        elif parameter.kind == "enum":
            entry = {"enum": list(parameter.allowed)}
        elif parameter.kind == "string":
            entry.update(minLength=1)
        elif parameter.kind == "list":
            entry = {"type": "array", "maxItems": parameter.high}
        properties[parameter.name] = entry
    return {
        "properties": properties,
        "required": [parameter.name for parameter in spec if parameter.required],
    }


def spec_as_text(rng: Rng, spec: Sequence[Parameter]) -> str:
    """The specification as lines of documentation."""
    lines = []
    for parameter in spec:
        need = "required" if parameter.required else "optional"
        if parameter.kind == "integer":
            what = f"whole number from {parameter.low} to {parameter.high}"
        elif parameter.kind == "enum":
            what = f"one of {', '.join(parameter.allowed)}"
        elif parameter.kind == "string":
            what = "text, not empty"
        elif parameter.kind == "list":
            what = f"list of at most {parameter.high} entries"
        else:
            what = "true or false (not text)"
        lines.append(f"- {parameter.name} ({need}): {what}")
    return "\n".join(lines)


@dataclass(frozen=True)
class WrittenRequest:
    """The sections of a state that hold a specification and a payload, and the former by itself."""

    sections: list[tuple[str, Any]]
    spec: Any


def write_request(
    rng: Rng,
    spec: Sequence[Parameter],
    payload: Mapping[str, Any],
    *,
    schema_title: str,
    text_title: str,
    payload_titles: Sequence[str],
) -> WrittenRequest:
    """The specification as a schema or as documentation, then the payload."""
    shuffled = dict(rng.shuffled(list(payload.items())))
    as_schema = rng.chance(0.5)
    shown: Any = spec_as_schema(spec) if as_schema else spec_as_text(rng, spec)
    body = shuffled if as_schema else compact_json(shuffled)
    title = schema_title if as_schema else text_title
    return WrittenRequest([(title, shown), (rng.choice(payload_titles), body)], shown)


def deciding_pieces(spec: Sequence[Parameter], payload: Mapping[str, Any]) -> list[str]:
    """What settles the check, as it stands in a state: the faulty field, or every field of the
    payload; for a missing field the name that is asked for."""
    wrong = fault(spec, payload)
    present = [name for name in wrong or payload if name in payload]
    if present:
        return [compact_json({name: payload[name]})[1:-1] for name in present]
    return [wrong[0] if wrong else spec[0].name]
