"""One condition on one field: whether it holds, and the ways to say it.

``holds`` is three-valued: None means that the record does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.records.fields import (
    DAYS,
    DateField,
    Field,
    FlagField,
    NumberField,
    PickField,
    Record,
    Value,
    key_of,
    say_day,
    say_number,
)
from thisthat_lab.tables import Tables

ORDERED = ("at least", "more than", "at most", "less than")
_TABLES = Tables(__file__)
OPPOSITE = _TABLES.read("opposite", dict[str, str])
SYMBOLS = _TABLES.read("symbols", dict[str, str])
NUMBER_WORDS = _TABLES.groups("number_words")
DAY_WORDS = _TABLES.groups("day_words")


@dataclass(frozen=True)
class Condition:
    """``relation`` of a field to ``operands``: numbers, days or names; none for a flag."""

    field: Field
    relation: str
    operands: tuple[int | str, ...] = ()

    def holds(self, record: Record) -> bool | None:
        """Whether the record meets it; None when the field is missing or unknown."""
        value = record.get(self.field.phrase)
        if value is None:
            return None
        return _compare(self.relation, value, self.operands)

    def negated(self) -> Condition:
        """The condition that holds exactly when this one does not."""
        return Condition(self.field, OPPOSITE[self.relation], self.operands)


def _compare(relation: str, value: Value, operands: tuple[int | str, ...]) -> bool:
    if relation in ("is", "is not"):
        return bool(value) == (relation == "is")
    if relation in ("one of", "none of"):
        return (value in operands) == (relation == "one of")
    if relation in ("includes", "lacks"):
        assert isinstance(value, tuple)
        return (operands[0] in value) == (relation == "includes")
    assert isinstance(value, int)
    numbers = [int(operand) for operand in operands]
    if relation in ("within", "outside"):
        return (numbers[0] <= value <= numbers[1]) == (relation == "within")
    if relation == "at least":
        return value >= numbers[0]
    if relation == "more than":
        return value > numbers[0]
    if relation == "at most":
        return value <= numbers[0]
    if relation == "less than":
        return value < numbers[0]
    raise ValueError(f"unknown relation {relation!r}")


def draw_condition(rng: Rng, field: Field, value: Value, want: bool) -> Condition:
    """A condition on the field that this value meets (``want``) or narrowly fails to meet.

    The relation does not depend on ``want``, so that no word of it says what is true.
    """
    if isinstance(field, FlagField):
        return Condition(field, "is" if bool(value) == want else "is not")
    if isinstance(field, (NumberField, DateField)):
        assert isinstance(value, int)
        return _draw_ordered(rng, field, value, want)
    if isinstance(field, PickField):
        positive = rng.chance(0.5)
        count = rng.weighted((1, 2, 3), (5, 3, 1))
        others = [name for name in field.values if name != value]
        count = min(count, len(others))
        if positive == want:
            names = rng.shuffled([str(value), *rng.sample(others, count - 1)])
        else:
            names = rng.sample(others, count)
        return Condition(field, "one of" if positive else "none of", tuple(names))
    assert isinstance(value, tuple)
    positive = rng.chance(0.5)
    absent = [name for name in field.values if name not in value]
    name = rng.choice(value if positive == want else absent)
    return Condition(field, "includes" if positive else "lacks", (name,))


def _draw_ordered(rng: Rng, field: NumberField | DateField, value: int, want: bool) -> Condition:
    numeric = isinstance(field, NumberField)
    step = field.step if isinstance(field, NumberField) else 1
    low, high = (field.low, field.high) if isinstance(field, NumberField) else (0, DAYS)
    reach = max(3, (high - low) // step // 3)
    while True:
        relation = rng.choice(ORDERED) if rng.chance(0.85) else rng.choice(("within", "outside"))
        for _ in range(12):
            gap = 0 if rng.chance(0.2) else rng.integer(1, 3 if rng.chance(0.5) else reach)
            bound = value + step * (gap if rng.chance(0.5) else -gap)
            operands: tuple[int, ...] = (bound,)
            if relation in ("within", "outside"):
                width = step * rng.integer(1, reach)
                operands = (bound, bound + width) if rng.chance(0.5) else (bound - width, bound)
            least = min(low, 0) if numeric else 0
            empty = operands[0] <= least and relation in ("at least", "less than")
            if not empty and operands[0] >= least and _compare(relation, value, operands) == want:
                return Condition(field, relation, operands)


def subject(rng: Rng, field: Field, noun: str) -> str:
    """What a sentence about the field speaks of: "the weight", "the deposit"."""
    phrase = field.phrase
    if isinstance(field, FlagField):
        return f"the {field.part or noun}"
    if isinstance(field, DateField) and not phrase.endswith("date"):
        return f"the '{phrase}' date"
    if is_count(field):
        return f"the number of {phrase}"
    form = rng.below(6)
    if form == 0:
        return f"the {phrase} of the {noun}"
    return f"the {noun}'s {phrase}" if form == 1 else f"the {phrase}"


def is_count(field: Field) -> bool:
    """Whether the field counts things that its phrase names in the plural."""
    if not isinstance(field, NumberField) or field.unit:
        return False
    words = field.phrase.split()
    return "people" in words or any(word[-1:] == "s" and word[-2:] != "ss" for word in words)


def predicate(rng: Rng, condition: Condition, day_style: str = "iso") -> str:
    """What follows "is" in a sentence that states the condition."""
    field, relation = condition.field, condition.relation
    if isinstance(field, FlagField):
        return field.quality if relation == "is" else f"not {field.quality}"
    if relation in ("one of", "none of"):
        return _say_names(rng, [str(name) for name in condition.operands], relation == "one of")
    if relation in ("includes", "lacks"):
        raise ValueError("a list condition has no predicate; use sentence")
    shown = [_say_operand(field, operand, day_style) for operand in condition.operands]
    if isinstance(field, DateField):
        return rng.choice(DAY_WORDS[relation]).format(*shown)
    return rng.choice(NUMBER_WORDS[relation]).format(*shown)


def _say_operand(field: Field, operand: int | str, day_style: str) -> str:
    if isinstance(field, DateField):
        return say_day(int(operand), day_style)
    return say_number(int(operand), field.unit) if isinstance(field, NumberField) else str(operand)


def _say_names(rng: Rng, names: Sequence[str], positive: bool) -> str:
    if len(names) == 1:
        return names[0] if positive else rng.choice((f"not {names[0]}", f"other than {names[0]}"))
    listed = ", ".join(names)
    if positive:
        return rng.choice((f"one of {listed}", f"{', '.join(names[:-1])} or {names[-1]}"))
    return rng.choice((f"none of {listed}", f"neither {' nor '.join(names)}"))


def sentence(rng: Rng, condition: Condition, noun: str, verb: str = "is") -> str:
    """The condition as a clause, without capital or stop; ``verb`` is "is" or "must be"."""
    field = condition.field
    if condition.relation in ("includes", "lacks"):
        name = condition.operands[0]
        listed = rng.choice((f"among the {field.phrase}", f"listed under {field.phrase}"))
        denial = "" if condition.relation == "includes" else "not "
        return f"{name} {verb} {denial}{listed}"
    return f"{subject(rng, field, noun)} {verb} {predicate(rng, condition)}"


def question(rng: Rng, condition: Condition, noun: str) -> str:
    """The condition as a question, without capital or question mark."""
    field = condition.field
    if condition.relation in ("includes", "lacks"):
        denial = "" if condition.relation == "includes" else "not "
        return f"is {condition.operands[0]} {denial}among the {field.phrase}"
    return f"is {subject(rng, field, noun)} {predicate(rng, condition)}"


def symbolic(condition: Condition, style: str = "snake") -> str:
    """The condition the way a configuration file would put it: ``weight_kg >= 12``."""
    field = condition.field
    key = key_of(field, style)
    if isinstance(field, FlagField):
        return f"{key} == {'true' if condition.relation == 'is' else 'false'}"
    shown = [
        say_day(int(operand)) if isinstance(field, DateField) else str(operand)
        for operand in condition.operands
    ]
    if condition.relation in ("includes", "lacks"):
        return f"{key} {SYMBOLS[condition.relation]} {shown[0]}"
    if condition.relation in ("within", "outside"):
        return f"{key} {SYMBOLS[condition.relation]} [{shown[0]}, {shown[1]}]"
    if condition.relation in ("one of", "none of"):
        if len(shown) == 1:
            return f"{key} {'==' if condition.relation == 'one of' else '!='} {shown[0]}"
        return f"{key} {SYMBOLS[condition.relation]} [{', '.join(shown)}]"
    return f"{key} {SYMBOLS[condition.relation]} {shown[0]}"
