"""Rules against all ways to fill in what a record leaves open."""

from itertools import product

from thisthat.rng import Rng
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.fields import Record, Value
from thisthat_lab.suites.records.rules import (
    MODES,
    RecordRule,
    deciding_phrases,
    draw_rule,
    move_fact,
    say_rule,
    twin_rule,
)


def slow_holds(rule: RecordRule, marks: list[bool]) -> bool:
    true = [mark for mark in marks if mark]
    if rule.mode == "unless":
        return marks == [True] * (len(marks) - 1) + [False]
    return {
        "all": len(true) == len(marks),
        "any": bool(true),
        "none": not true,
        "at least": len(true) >= rule.needed,
    }[rule.mode]


def slow_answer(rule: RecordRule, record: Record) -> bool | None:
    ways = [
        (True, False) if mark is None else (mark,)
        for mark in (condition.holds(record) for condition in rule.conditions)
    ]
    answers = {slow_holds(rule, list(filled)) for filled in product(*ways)}
    return answers.pop() if len(answers) == 1 else None


def test_drawn_rules_answer_as_wanted_and_gaps_leave_them_open() -> None:
    rng = Rng("rules")
    types = record_types()
    seen = set()
    for number in range(10_000):
        kind = types[number % len(types)]
        record = kind.draw(rng)
        want = rng.chance(0.5)
        rule = draw_rule(rng, kind, record, want, rng.integer(1, 5))
        seen.add(rule.mode)
        assert rule.holds(record) is want
        assert slow_answer(rule, record) is want
        gaps: dict[str, Value] = dict(record)
        for phrase in rule.phrases:
            if rng.chance(0.4):
                gaps[phrase] = None
        assert rule.holds(gaps) is slow_answer(rule, gaps)
    assert seen == set(MODES)


def test_twins_change_the_answer() -> None:
    rng = Rng("twins")
    for kind in record_types() * 5:
        record = kind.draw(rng)
        rule = draw_rule(rng, kind, record, rng.chance(0.5), rng.integer(1, 4))
        assert twin_rule(rng, rule, record).holds(record) is (not rule.holds(record))
        moved = move_fact(rng, rule, record)
        if moved is not None:
            assert rule.holds(moved) is (not rule.holds(record))
            assert sum(moved[key] != record[key] for key in record) == 1


def test_the_deciding_fields_alone_settle_the_answer() -> None:
    rng = Rng("deciding")
    for kind in record_types() * 5:
        record = kind.draw(rng)
        rule = draw_rule(rng, kind, record, rng.chance(0.5), rng.integer(1, 4))
        needed = deciding_phrases(rule, record)
        alone = {phrase: record[phrase] for phrase in needed}
        assert rule.holds(alone) is rule.holds(record)


def test_every_form_names_every_condition() -> None:
    rng = Rng("forms")
    for kind in record_types():
        record = kind.draw(rng)
        rule = draw_rule(rng, kind, record, True, 3)
        for form in ("sentence", "list", "symbols"):
            text = say_rule(rng, rule, kind.noun, form)
            for condition in rule.conditions:
                for operand in condition.operands:
                    if isinstance(operand, str):
                        assert operand.lower() in text.lower()
