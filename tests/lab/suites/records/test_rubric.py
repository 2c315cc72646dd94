"""Rubrics against a slow reading of their definition."""

from itertools import product

import pytest

from thisthat.rng import Rng
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.fields import Record, Value
from thisthat_lab.suites.records.rubric import METHODS, Rubric, draw_rubric, twin_rubric, usable
from thisthat_lab.suites.records.rubric_text import definitions, draw_scale, say_rubric


def slow_level(rubric: Rubric, record: Record) -> int:
    """Walk the definition step by step."""
    marks = [bool(condition.holds(record)) for condition in rubric.conditions]
    if rubric.method in ("band", "points"):
        if rubric.field is not None:
            total = int(str(record[rubric.field.phrase]))
        else:
            total = rubric.start
            for place, mark in enumerate(marks):
                total = total + rubric.weights[place] if mark else total
        level = 0
        while level < len(rubric.bounds) and total >= rubric.bounds[level]:
            level += 1
    elif rubric.method == "count":
        level = marks.count(True)
    elif rubric.method == "ladder":
        level = 0
        for mark in marks:
            if not mark:
                break
            level += 1
    else:
        hits = [weight for weight, mark in zip(rubric.weights, marks, strict=True) if mark]
        if not hits:
            return rubric.start
        if rubric.method == "first":
            return hits[0]
        return sorted(hits)[-1 if rubric.method == "highest" else 0]
    return rubric.levels - 1 - level if rubric.falling else level


@pytest.mark.parametrize("method", METHODS)
def test_drawn_rubrics_give_the_wanted_level(method: str) -> None:
    rng = Rng("rubric", method)
    types = record_types()
    made = 0
    for number in range(1_200):
        kind = types[number % len(types)]
        levels = rng.integer(2, 6)
        if not usable(kind, method, levels):
            continue
        record = kind.draw(rng)
        target = rng.below(levels)
        rubric = draw_rubric(rng, kind, record, method, levels, target, rng.integer(2, 5))
        if rubric is None:
            continue
        made += 1
        assert rubric.level(record) == target == slow_level(rubric, record)
        other = kind.draw(rng)
        assert rubric.level(other) == slow_level(rubric, other)
        assert list(rubric.bounds) == sorted(set(rubric.bounds))
        twin = twin_rubric(rng, rubric, record)
        if twin is not None:
            assert twin.level(record) == slow_level(twin, record) != target
    assert made > 400


@pytest.mark.parametrize("method", ["points", "count", "ladder", "first", "highest", "lowest"])
def test_a_gap_leaves_the_level_open_only_where_it_matters(method: str) -> None:
    rng = Rng("gaps", method)
    types = record_types()
    opened = 0
    for number in range(600):
        kind = types[number % len(types)]
        record = kind.draw(rng)
        rubric = draw_rubric(rng, kind, record, method, 4, rng.below(4), 3)
        if rubric is None:
            continue
        gaps: dict[str, Value] = dict(record)
        gaps[rng.choice(rubric.phrases)] = None
        ways = []
        for condition in rubric.conditions:
            known = condition.holds(gaps)
            ways.append([condition, condition.negated()] if known is None else [condition])
        levels = set()
        for conditions in product(*ways):
            filled = Rubric(
                rubric.method,
                rubric.levels,
                conditions=tuple(conditions),
                weights=rubric.weights,
                bounds=rubric.bounds,
                falling=rubric.falling,
                start=rubric.start,
            )
            levels.add(slow_level(filled, record))
        expected = levels.pop() if len(levels) == 1 else None
        opened += expected is None
        assert rubric.level(gaps) == expected
    assert opened > 50


def test_a_missing_number_leaves_a_band_open() -> None:
    rng = Rng("band gap")
    kind = record_types()[0]
    rubric = None
    while rubric is None:
        rubric = draw_rubric(rng, kind, kind.draw(rng), "band", 3, 1, 1)
    assert rubric.level({}) is None


def test_scales_and_definitions_have_one_different_text_for_each_level() -> None:
    rng = Rng("scales")
    for levels in range(2, 11):
        for _ in range(20):
            scale = draw_scale(rng, levels)
            assert len(set(scale)) == levels
    for kind in record_types():
        for method in ("band", "points", "count", "ladder"):
            record = kind.draw(rng)
            rubric = draw_rubric(rng, kind, record, method, 4, rng.below(4), 3)
            if rubric is not None:
                assert len(set(definitions(rng, rubric, kind.noun))) == 4
                text = say_rubric(rng, rubric, kind.noun, draw_scale(rng, 4), table=True)
                assert all(str(bound) in text.replace(",", "") for bound in rubric.bounds)


def test_lines_have_no_text_of_their_own() -> None:
    with pytest.raises(ValueError):
        definitions(Rng("none"), Rubric("first", 3), "thing")
