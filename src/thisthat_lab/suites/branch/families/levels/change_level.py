"""Score: how far has a figure moved between two readings, by stated margins?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import json_span
from thisthat_lab.suites.records.asking import ask, numbered_levels
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.fields import NumberField, key_of, say_number
from thisthat_lab.tables import Tables

BEFORE = ("last month", "before", "in the morning", "at the first visit", "previous", "baseline")
AFTER = ("this month", "after", "in the evening", "at the second visit", "current", "latest")
_TABLES = Tables(__file__)
NAMES = _TABLES.read("names", dict[int, tuple[tuple[str, ...], ...]])


@dataclass(frozen=True)
class Case:
    """Two readings of one figure. With margins a < b: within a is level, beyond b is sharp."""

    noun: str
    field: NumberField
    old: int | None
    new: int | None
    levels: int
    inner: int
    outer: int
    falling: bool
    others: tuple[tuple[NumberField, int, int], ...]
    setting: Setting


def draw(rng: Rng, setting: Setting) -> Case:
    """A change of every size equally often."""
    kind = rng.choice(record_types())
    numbers = [field for field in kind.fields if isinstance(field, NumberField)]
    field, *rest = rng.shuffled(numbers)
    levels = rng.choice((2, 3, 3, 5, 5))
    inner = field.step * rng.integer(1, 4) if levels > 2 else 0
    outer = inner + field.step * rng.integer(2, 8)
    level = rng.below(levels)
    step = level - levels // 2 if levels > 2 else (1 if level else rng.choice((0, -1)))
    if levels == 2:
        size = abs(step) * field.step * rng.integer(1, 6)
    elif step == 0:
        size = field.step * rng.integer(0, inner // field.step)
        step = 1 if rng.chance(0.5) else -1
    elif levels == 3 or abs(step) == 2:
        least = (inner if levels == 3 else outer) // field.step
        size = field.step * rng.integer(least + 1, least + 5)
    else:
        size = field.step * rng.integer(inner // field.step + 1, outer // field.step)
    change = size if step > 0 else -size
    old = max(field.draw(rng), -change + max(0, field.low))
    others = tuple(
        (other, other.draw(rng), other.draw(rng))
        for other in rest[: min(len(rest), setting.distractors // 2)]
    )
    case = Case(
        kind.noun,
        field,
        old,
        old + change,
        levels,
        inner,
        outer,
        rng.chance(0.3),
        others,
        setting,
    )
    if setting.abstain and rng.chance(1 / (levels + 1)):
        return replace(case, old=None) if rng.chance(0.5) else replace(case, new=None)
    return case


def solve(case: Case) -> int:
    """The level of the change; one past the last when a reading is missing."""
    if case.old is None or case.new is None:
        return case.levels
    change = case.new - case.old
    if case.levels == 2:
        level = int(change > 0)
    else:
        size = abs(change)
        steps = 0 if size <= case.inner else (1 if case.levels == 3 or size <= case.outer else 2)
        level = case.levels // 2 + (steps if change > 0 else -steps)
    return case.levels - 1 - level if case.falling else level


def twin(case: Case, rng: Rng) -> Case | None:
    """The same readings under other margins, or the scale turned round."""
    return turned(case, (_changed(case, rng) for _ in range(10)), solve, case.levels)


def _changed(case: Case, rng: Rng) -> Case:
    step = case.field.step
    inner = step * rng.integer(1, 6)
    outer = inner + step * rng.integer(1, 6)
    if case.levels == 2 or rng.chance(0.2):
        return replace(case, falling=not case.falling)
    return replace(case, inner=inner, outer=outer)


def render(case: Case, rng: Rng) -> Asked:
    """Two readings side by side, and the margins in the question, the state or the levels."""
    place = rng.below(len(BEFORE))
    before, after = BEFORE[place], AFTER[place]
    rows = rng.shuffled([(case.field, case.old, case.new), *case.others])
    if rng.chance(0.4):
        content: Any = {
            when.replace(" ", "_"): {key_of(field): values[index] for field, *values in rows}
            for index, when in enumerate((before, after))
        }
        key = key_of(case.field)
        deciding = [json_span(key, case.old), json_span(key, case.new)]
    else:
        lines = []
        deciding = []
        for field, *values in rows:
            said = [
                "missing" if value is None else say_number(value, field.unit) for value in values
            ]
            line = f"{field.phrase}: {before} {said[0]}, {after} {said[1]}"
            lines.append(line)
            if field is case.field:
                deciding = [line]
        content = "\n".join(lines)
    names = rng.choice(NAMES[case.levels])
    if case.falling:
        names = tuple(reversed(names))
    margins = _margins(rng, case, sorted(names, key=names.index, reverse=case.falling))
    question = rng.choice(QUESTIONS).format(noun=case.noun, phrase=case.field.phrase)
    sections = [(rng.choice((case.noun, "readings", "figures")), content)]
    in_state = rng.chance(0.4)
    if in_state:
        sections.append((rng.choice(("margins", "how to read a change", "scale")), margins))
    else:
        question = f"{question} {margins}"
    return ask(
        rng,
        sections,
        question,
        numbered_levels(names),
        deciding=deciding,
        rule=[margins] if in_state else (),
        setting=case.setting,
        levels=case.levels,
    )


def _margins(rng: Rng, case: Case, names: list[str]) -> str:
    """What the names mean, ``names`` from the deepest fall to the steepest rise."""
    inner = say_number(case.inner, case.field.unit)
    outer = say_number(case.outer, case.field.unit)
    if case.levels == 2:
        return f"'{names[1]}' means a larger number than before, anything else is '{names[0]}'."
    middle = f"a change of up to {inner} either way is '{names[case.levels // 2]}'"
    if case.levels == 3:
        return f"Here {middle}; a greater fall is '{names[0]}', a greater rise '{names[2]}'."
    return (
        f"Here {middle}; beyond that, up to {outer} down is '{names[1]}' and up to {outer} up is "
        f"'{names[3]}'; still more is '{names[0]}' or '{names[4]}'."
    )


QUESTIONS = _TABLES.words("questions")
FAMILY = branch_family("change_level", "score", draw, solve, render, twin)
