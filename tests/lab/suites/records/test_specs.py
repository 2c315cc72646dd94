"""Specifications against a small reader of the schema form."""

from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.records.specs import (
    break_field,
    draw_payload,
    draw_spec,
    fault,
    spec_as_schema,
    spec_as_text,
)


def slow_faults(schema: dict[str, Any], payload: dict[str, Any]) -> set[str]:
    wrong = {name for name in schema["required"] if name not in payload}
    for name, value in payload.items():
        rule = schema["properties"][name]
        if "enum" in rule:
            good = value in rule["enum"]
        elif rule["type"] == "boolean":
            good = value is True or value is False
        elif rule["type"] == "integer":
            good = type(value) is int and value in range(rule["minimum"], rule["maximum"] + 1)
        elif rule["type"] == "array":
            good = type(value) is list and len(value) <= rule["maxItems"]
        else:
            good = type(value) is str and len(value) >= rule["minLength"]
        if not good:
            wrong.add(name)
    return wrong


def test_payloads_keep_to_the_specification_until_one_field_is_broken() -> None:
    rng = Rng("specs")
    for _ in range(5_000):
        spec = draw_spec(rng, rng.integer(1, 8))
        schema = spec_as_schema(spec)
        payload = draw_payload(rng, spec)
        assert fault(spec, payload) == ()
        assert slow_faults(schema, payload) == set()
        chosen = rng.choice(spec)
        broken = break_field(rng, chosen, payload)
        assert fault(spec, broken) == (chosen.name,)
        assert slow_faults(schema, broken) == {chosen.name}


def test_the_text_names_every_parameter() -> None:
    rng = Rng("text")
    spec = draw_spec(rng, 8)
    text = spec_as_text(rng, spec)
    assert all(parameter.name in text for parameter in spec)
    assert text.count("required") == sum(parameter.required for parameter in spec)
