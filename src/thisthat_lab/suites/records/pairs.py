"""Two records of one kind side by side: drawing pairs that agree on chosen fields."""

from __future__ import annotations

from collections.abc import Collection

from thisthat.rng import Rng
from thisthat_lab.suites.records.fields import DateField, NumberField, Record, RecordType, Value


def draw_other(
    rng: Rng, kind: RecordType, record: Record, agreeing: Collection[str]
) -> dict[str, Value]:
    """A record that agrees with the given one on exactly the ``agreeing`` fields."""
    other: dict[str, Value] = {}
    for field in kind.fields:
        value = record[field.phrase]
        if field.phrase in agreeing:
            other[field.phrase] = value
            continue
        drawn = field.draw(rng)
        if isinstance(field, (NumberField, DateField)) and rng.chance(0.4):
            step = field.step if isinstance(field, NumberField) else 1
            drawn = int(str(value)) + step * rng.integer(1, 3)
        while _same(drawn, value):
            drawn = field.draw(rng)
        other[field.phrase] = drawn
    return other


def agree(left: Record, right: Record, phrase: str) -> bool | None:
    """Whether both records have the same value; lists agree in any order; None if unknown."""
    if left.get(phrase) is None or right.get(phrase) is None:
        return None
    return _same(left[phrase], right[phrase])


def _same(left: Value, right: Value) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return set(left) == set(right)
    return left == right
