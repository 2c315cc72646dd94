"""Rubrics: ways to put a record on one of two to ten ordered levels.

A rubric is a method and its numbers; ``level`` applies it. What a rubric says in words is in
``rubric_text``. Methods:

- ``band``: a number falls between bounds.
- ``points``: conditions that hold add or take points; the total falls between bounds.
- ``count``: the number of conditions that hold is the level.
- ``ladder``: the level is how many conditions hold before the first that does not.
- ``first``: lines of condition and level; the first line that holds gives the level.
- ``highest``, ``lowest``: every line that holds proposes its level; the extreme one stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from thisthat.rng import Rng
from thisthat_lab.suites.records.conditions import Condition, draw_condition
from thisthat_lab.suites.records.fields import NumberField, Record, RecordType

METHODS = ("band", "points", "count", "ladder", "first", "highest", "lowest")


@dataclass(frozen=True)
class Rubric:
    """``levels`` ordered levels and how to find the right one.

    ``bounds`` are the least totals of levels 1, 2, … ; with ``falling`` large numbers mean low
    levels. ``weights`` are points (points) or proposed levels (first, highest, lowest).
    ``start`` is the total before any points, or the level when no line holds.
    """

    method: str
    levels: int
    field: NumberField | None = None
    conditions: tuple[Condition, ...] = ()
    weights: tuple[int, ...] = ()
    bounds: tuple[int, ...] = ()
    falling: bool = False
    start: int = 0

    def level(self, record: Record) -> int | None:
        """The level of the record; None when a missing fact leaves it open."""
        if self.method == "band":
            assert self.field is not None
            value = record.get(self.field.phrase)
            return None if value is None else self._banded(int(str(value)))
        marks = [condition.holds(record) for condition in self.conditions]
        possible = {
            self._level_of(filled)
            for filled in product(
                *((mark,) if mark is not None else (True, False) for mark in marks)
            )
        }
        return possible.pop() if len(possible) == 1 else None

    def total(self, marks: Sequence[bool]) -> int:
        """The points of a points rubric."""
        paired = zip(self.weights, marks, strict=True)
        return self.start + sum(weight for weight, mark in paired if mark)

    @property
    def phrases(self) -> tuple[str, ...]:
        """The fields the rubric reads."""
        if self.field is not None:
            return (self.field.phrase,)
        return tuple(condition.field.phrase for condition in self.conditions)

    def _banded(self, value: int) -> int:
        reached = sum(bound <= value for bound in self.bounds)
        return self.levels - 1 - reached if self.falling else reached

    def _level_of(self, marks: Sequence[bool]) -> int:
        if self.method == "points":
            return self._banded(self.total(marks))
        if self.method == "count":
            return self.levels - 1 - sum(marks) if self.falling else sum(marks)
        if self.method == "ladder":
            climbed = marks.index(False) if False in marks else len(marks)
            return self.levels - 1 - climbed if self.falling else climbed
        proposed = [weight for weight, mark in zip(self.weights, marks, strict=True) if mark]
        if not proposed:
            return self.start
        if self.method == "first":
            return proposed[0]
        return max(proposed) if self.method == "highest" else min(proposed)


def draw_rubric(
    rng: Rng, kind: RecordType, record: Record, method: str, levels: int, target: int, size: int
) -> Rubric | None:
    """A rubric of the method that puts the record on level ``target``; None if it cannot.

    ``size`` conditions are used where the method leaves their number free.
    """
    if method == "band":
        fields = [field for field in kind.fields if isinstance(field, NumberField)]
        field = rng.choice(fields)
        value = int(str(record[field.phrase]))
        falling = rng.chance(0.5)
        reached = levels - 1 - target if falling else target
        least = max(field.low, 0) // field.step + 1
        bounds = _draw_bounds(
            rng, value // field.step, least, field.high // field.step + levels, levels, reached
        )
        if bounds is None:
            return None
        offset = field.low % field.step
        return Rubric(
            method,
            levels,
            field=field,
            bounds=tuple(bound * field.step + offset for bound in bounds),
            falling=falling,
        )
    if method in ("count", "ladder"):
        size = levels - 1
    size = min(size, len(kind.fields))
    if method in ("count", "ladder") and size != levels - 1:
        return None
    fields_used = rng.sample(kind.fields, size)
    falling = rng.chance(0.4)
    reached = levels - 1 - target if falling else target
    if method == "count":
        marks = rng.shuffled([True] * reached + [False] * (size - reached))
    elif method == "ladder":
        rest = [rng.chance(0.5) for _ in range(size - reached - 1)]
        marks = [True] * reached + ([False] if reached < size else []) + rest
    else:
        marks = [rng.chance(0.5) for _ in range(size)]
    conditions = tuple(
        draw_condition(rng, field, record[field.phrase], mark)
        for field, mark in zip(fields_used, marks, strict=True)
    )
    rubric = Rubric(method, levels, conditions=conditions, falling=falling)
    if method in ("count", "ladder"):
        return rubric
    if method == "points":
        return _draw_points(rng, rubric, marks, reached)
    rubric = replace(rubric, falling=False)
    for _ in range(40):
        weights = tuple(rng.below(levels) for _ in conditions)
        filled = replace(rubric, weights=weights, start=rng.below(levels))
        if len(set(weights)) > 1 or levels == 1:
            if method == "highest":
                filled = replace(filled, start=0)
            elif method == "lowest":
                filled = replace(filled, start=levels - 1)
            if filled.level(record) == target:
                return filled
    return None


def _draw_points(rng: Rng, rubric: Rubric, marks: Sequence[bool], reached: int) -> Rubric | None:
    for _ in range(20):
        signed = rng.chance(0.4)
        weights = tuple(
            rng.integer(1, 5) * (-1 if signed and rng.chance(0.4) else 1) for _ in marks
        )
        down = -sum(weight for weight in weights if weight < 0)
        filled = replace(rubric, weights=weights, start=down if signed else 0)
        most = filled.start + sum(weight for weight in weights if weight > 0)
        bounds = _draw_bounds(rng, filled.total(marks), 1, most, rubric.levels, reached)
        if bounds is not None:
            return replace(filled, bounds=bounds)
    return None


def _draw_bounds(
    rng: Rng, value: int, least: int, most: int, levels: int, reached: int
) -> tuple[int, ...] | None:
    """``levels - 1`` different bounds from ``least`` to ``most``, ``reached`` of them met."""
    span = max(levels * 2, 6) if rng.chance(0.6) else most - least + 1
    below = list(range(max(least, value - span), min(value, most) + 1))
    above = list(range(max(value + 1, least), min(most, value + span) + 1))
    if len(below) < reached or len(above) < levels - 1 - reached:
        return None
    picked = rng.sample(below, reached) + rng.sample(above, levels - 1 - reached)
    return tuple(sorted(picked))


def twin_rubric(rng: Rng, rubric: Rubric, record: Record) -> Rubric | None:
    """The rubric with one bound, weight or condition changed so that the level changes."""
    answer = rubric.level(record)
    for _ in range(30):
        if rubric.bounds:
            shift = rng.integer(1, 4) * (rubric.field.step if rubric.field else 1)
            sign = 1 if rng.chance(0.5) else -1
            twin = replace(rubric, bounds=tuple(bound + sign * shift for bound in rubric.bounds))
            if twin.bounds[0] < 1:
                continue
        elif rubric.weights and rng.chance(0.5):
            weights = list(rubric.weights)
            weights[rng.below(len(weights))] = rng.below(rubric.levels)
            twin = replace(rubric, weights=tuple(weights))
        else:
            index = rng.below(len(rubric.conditions))
            old = rubric.conditions[index]
            new = draw_condition(rng, old.field, record[old.field.phrase], not old.holds(record))
            conditions = (*rubric.conditions[:index], new, *rubric.conditions[index + 1 :])
            twin = replace(rubric, conditions=conditions)
        if twin.level(record) not in (None, answer):
            return twin
    return None


def usable(kind: RecordType, method: str, levels: int) -> bool:
    """Whether the method can make a rubric of so many levels from this kind of record."""
    if method in ("count", "ladder"):
        return levels - 1 <= len(kind.fields)
    if method == "band":
        return any(
            isinstance(field, NumberField) and (field.high - field.low) // field.step >= 2 * levels
            for field in kind.fields
        )
    return levels <= 6 or method == "points"
