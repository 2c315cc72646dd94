"""Rules made of several conditions: all, any, none, at least so many, unless.

Three-valued like the conditions: None when the record leaves the answer open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.wording import COUNT_WORDS, join
from thisthat_lab.suites.records.conditions import Condition, draw_condition, sentence, symbolic
from thisthat_lab.suites.records.fields import NumberField, Record, RecordType, Value
from thisthat_lab.tables import Tables

MODES = ("all", "any", "none", "at least", "unless")


@dataclass(frozen=True)
class RecordRule:
    """Conditions joined by a mode. ``needed`` counts for "at least"; in "unless" the last
    condition is the exception that makes the rule fail."""

    mode: str
    conditions: tuple[Condition, ...]
    needed: int = 0

    def holds(self, record: Record) -> bool | None:
        """Whether the record satisfies the rule; None when it leaves that open."""
        marks = [condition.holds(record) for condition in self.conditions]
        sure = sum(mark is True for mark in marks)
        possible = sum(mark is not False for mark in marks)
        if self.mode == "all":
            return _decided(sure == len(marks), possible == len(marks))
        if self.mode == "any":
            return _decided(sure > 0, possible > 0)
        if self.mode == "none":
            return _decided(possible == 0, sure == 0)
        if self.mode == "at least":
            return _decided(sure >= self.needed, possible >= self.needed)
        if self.mode == "unless":
            *base, exception = marks
            return _decided(
                all(mark is True for mark in base) and exception is False,
                all(mark is not False for mark in base) and exception is not True,
            )
        raise ValueError(f"unknown mode {self.mode!r}")

    @property
    def phrases(self) -> tuple[str, ...]:
        """The fields the rule reads."""
        return tuple(condition.field.phrase for condition in self.conditions)


def _decided(certainly: bool, possibly: bool) -> bool | None:
    return True if certainly else (None if possibly else False)


def draw_rule(
    rng: Rng,
    kind: RecordType,
    record: Record,
    want: bool,
    clauses: int,
    modes: Sequence[str] = MODES,
) -> RecordRule:
    """A rule of ``clauses`` conditions that the record satisfies or narrowly does not."""
    clauses = max(1, min(clauses, len(kind.fields)))
    mode = rng.choice([mode for mode in modes if clauses > 1 or mode in ("all", "none")] or ["all"])
    fields = rng.sample(kind.fields, clauses)
    needed = rng.integer(1, clauses) if mode == "at least" else 0
    marks = _draw_marks(rng, mode, clauses, needed, want)
    conditions = tuple(
        draw_condition(rng, field, record[field.phrase], mark)
        for field, mark in zip(fields, marks, strict=True)
    )
    return RecordRule(mode, conditions, needed)


def _draw_marks(rng: Rng, mode: str, count: int, needed: int, want: bool) -> list[bool]:
    if mode == "unless":
        if want:
            return [True] * (count - 1) + [False]
        marks = [True] * (count - 1) + [False]
        broken = rng.below(count)
        marks[broken] = not marks[broken]
        return marks
    if mode in ("all", "none"):
        wrong = 0 if want else (1 if rng.chance(0.75) else rng.integer(1, count))
        true = wrong if mode == "none" else count - wrong
    elif mode == "any":
        true = (1 if rng.chance(0.75) else rng.integer(1, count)) if want else 0
    else:
        least, most = (needed, count) if want else (0, needed - 1)
        edge = needed if want else needed - 1
        true = edge if rng.chance(0.6) else rng.integer(least, most)
    return rng.shuffled([True] * true + [False] * (count - true))


def twin_rule(rng: Rng, rule: RecordRule, record: Record) -> RecordRule:
    """The same rule with one condition (or all) redrawn so that the answer changes."""
    answer = rule.holds(record)
    for index in rng.shuffled(range(len(rule.conditions))):
        old = rule.conditions[index]
        new = draw_condition(rng, old.field, record[old.field.phrase], not old.holds(record))
        conditions = (*rule.conditions[:index], new, *rule.conditions[index + 1 :])
        twin = replace(rule, conditions=conditions)
        if twin.holds(record) is (not answer):
            return twin
    # No single condition turns the rule: all of them together do.
    mark = bool(answer) == (rule.mode == "none")
    conditions = tuple(
        draw_condition(rng, condition.field, record[condition.field.phrase], mark)
        for condition in rule.conditions
    )
    return replace(rule, conditions=conditions)


def move_fact(rng: Rng, rule: RecordRule, record: Record) -> dict[str, Value] | None:
    """The record with one fact moved so that the rule's answer changes; None if none was found."""
    answer = rule.holds(record)
    for condition in rng.shuffled(rule.conditions):
        field = condition.field
        near = (
            [
                int(bound) + shift
                for bound in condition.operands
                if isinstance(bound, int)
                for shift in (-2, -1, 0, 1, 2)
            ]
            if isinstance(field, NumberField)
            else []
        )
        usual = [field.draw(rng) for _ in range(12)]
        for value in (*rng.shuffled(near), *usual):
            if isinstance(field, NumberField) and not field.low <= int(str(value)) <= field.high:
                continue
            moved = {**record, field.phrase: value}
            if rule.holds(moved) is (not answer):
                return moved
    return None


def deciding_phrases(rule: RecordRule, record: Record) -> tuple[str, ...]:
    """The fields that settle the answer: the failing or the sufficient ones, else all."""
    answer = rule.holds(record)
    for index, condition in enumerate(rule.conditions):
        hidden = dict(record)
        for other in rule.conditions[:index] + rule.conditions[index + 1 :]:
            hidden[other.field.phrase] = None
        if answer is not None and rule.holds(hidden) is answer:
            return (condition.field.phrase,)
    return rule.phrases


_TABLES = Tables(__file__)
LEADS = _TABLES.groups("leads")


def say_rule(rng: Rng, rule: RecordRule, noun: str, form: str | None = None) -> str:
    """The rule as text: one sentence, a list of points, or symbols.

    ``form`` is "sentence", "list" or "symbols"; None picks one.
    """
    form = form or rng.weighted(("sentence", "list", "symbols"), (5, 3, 2))
    if form == "symbols":
        return _say_symbols(rng, rule)
    parts = [sentence(rng, condition, noun) for condition in rule.conditions]
    if len(parts) == 1:
        text = parts[0] if rule.mode != "none" else f"it is not the case that {parts[0]}"
        return capital(text) + "."
    if rule.mode == "unless":
        joined = f"{join(parts[:-1], 'and')}, unless {parts[-1]}"
        return capital(joined) + "."
    lead = _lead(rng, rule)
    if form == "list":
        mark = rng.choice(("- ", "* ", "number", "letter"))
        lines = [f"{_bullet(mark, index)}{capital(part)}" for index, part in enumerate(parts)]
        return f"{lead}:\n" + "\n".join(lines)
    if rule.mode == "all":
        return capital(join(parts, "and")) + "."
    if rule.mode == "any":
        return capital(join(parts, "or")) + "."
    return f"{lead}: " + "; ".join(parts) + "."


def _lead(rng: Rng, rule: RecordRule) -> str:
    count = COUNT_WORDS[rule.needed]
    counts = {"count": count, "Count": count.capitalize(), "total": len(rule.conditions)}
    return rng.choice(LEADS[rule.mode]).format(**counts)


def _bullet(mark: str, index: int) -> str:
    if mark == "number":
        return f"{index + 1}. "
    return f"({chr(97 + index)}) " if mark == "letter" else mark


def _say_symbols(rng: Rng, rule: RecordRule) -> str:
    style = rng.choice(("snake", "camel"))
    parts = [symbolic(condition, style) for condition in rule.conditions]
    if rule.mode == "unless":
        return f"({' AND '.join(parts[:-1])}) AND NOT ({parts[-1]})"
    if rule.mode == "all":
        return " AND ".join(parts)
    if rule.mode == "any":
        return " OR ".join(parts)
    if rule.mode == "none":
        return " AND ".join(f"NOT ({part})" for part in parts)
    return f"at least {rule.needed} of: " + "; ".join(parts)


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
