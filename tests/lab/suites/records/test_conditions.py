"""Conditions against a reader of their symbolic form that shares no code with them."""

import re
from datetime import date

from thisthat.rng import Rng
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.conditions import draw_condition, question, sentence, symbolic
from thisthat_lab.suites.records.fields import FIRST_DAY, DateField, FlagField, Record, key_of


def read_and_decide(text: str, record: Record, keys: dict[str, str], days: set[str]) -> bool:
    """Decide a line such as ``weight_kg >= 12`` the slow way, from its characters."""
    match = re.fullmatch(
        r"(\S+) (==|!=|>=|<=|>|<|not in range|in range|not in|in|does not contain|contains) (.*)",
        text,
    )
    assert match, text
    key, relation, rest = match.groups()
    value = record[keys[key]]
    operands = rest.strip("[]").split(", ")
    if isinstance(value, bool):
        return (str(value).lower() == rest) == (relation == "==")
    if "contain" in relation:
        assert isinstance(value, tuple)
        return (rest in value) == (relation == "contains")
    if isinstance(value, str):
        return (value in operands) == (relation in ("==", "in"))
    if key in days:
        operands = [str((date.fromisoformat(day) - FIRST_DAY).days) for day in operands]
    assert isinstance(value, int)
    numbers = [int(operand) for operand in operands]
    if "range" in relation:
        return (value in range(numbers[0], numbers[1] + 1)) == (relation == "in range")
    return bool(eval(f"{value} {relation} {numbers[0]}"))


def test_a_drawn_condition_is_true_or_false_as_wanted() -> None:
    rng = Rng("conditions")
    types = record_types()
    for number in range(10_000):
        kind = types[number % len(types)]
        record = kind.draw(rng)
        field = rng.choice(kind.fields)
        want = rng.chance(0.5)
        condition = draw_condition(rng, field, record[field.phrase], want)
        keys = {key_of(other): other.phrase for other in kind.fields}
        days = {key_of(other) for other in kind.fields if isinstance(other, DateField)}
        assert read_and_decide(symbolic(condition), record, keys, days) is want
        assert condition.holds(record) is want
        assert condition.negated().holds(record) is (not want)
        assert condition.holds({}) is None


def test_no_relation_or_operand_tells_what_is_wanted() -> None:
    counts: dict[tuple[type, str], list[int]] = {}
    rng = Rng("relations")
    for _ in range(20_000):
        kind = rng.choice(record_types())
        field = rng.choice(kind.fields)
        want = rng.chance(0.5)
        condition = draw_condition(rng, field, field.draw(rng), want)
        seen = counts.setdefault((type(field), condition.relation), [0, 0])
        seen[want] += 1
    for (_, relation), (no, yes) in counts.items():
        if no + yes > 400:
            assert 0.4 < yes / (no + yes) < 0.6, relation


def test_every_condition_can_be_said() -> None:
    rng = Rng("said")
    for kind in record_types():
        record = kind.draw(rng)
        for field in kind.fields:
            condition = draw_condition(rng, field, record[field.phrase], True)
            for text in (sentence(rng, condition, kind.noun), question(rng, condition, kind.noun)):
                assert "{" not in text
                assert "  " not in text
            if isinstance(field, FlagField):
                assert field.quality in sentence(rng, condition, kind.noun)
