"""The questions of a drill, one function for each: a subject in, a question with its answer out.

None means that the subject admits no such question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from thisthat.questions import Kind
from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import Clause, Compares, draw_clause
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.suites.base.fields import Day, Field, Flag, Number, Pick
from thisthat_lab.suites.base.rules import Rule, draw_rule
from thisthat_lab.suites.base.wording import DENIALS, STATEMENTS, bullets, sentence
from thisthat_lab.suites.drills.subjects import Subject
from thisthat_lab.tables import Tables

Options = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Drill:
    """A question about a subject; ``options`` of a choice may be put in any order."""

    kind: Kind
    question: str
    options: Options
    answer: int


def ask_fact(subject: Subject, rng: Rng) -> Drill | None:
    """Boolean: is one fact so? The limit is near the value more often than not."""
    wanted = rng.chance(0.5)
    clause = clause_with_truth(subject, rng.choice(subject.fields), wanted, rng)
    if clause is None:
        return None
    return stated(clause.say(rng), wanted, rng)


def ask_rule(subject: Subject, rng: Rng) -> Drill | None:
    """Boolean: do two to four facts combine as a rule says?"""
    count = rng.weighted((2, 3, 4), (6, 3, 1))
    if len(subject.fields) < count:
        return None
    wanted = rng.chance(0.5)
    for _ in range(8):
        rule = _rule_about(subject, count, rng)
        if rule is not None and rule.truth(subject.record) is wanted:
            return stated(rule.say(rng), wanted, rng)
    return None


def ask_value(subject: Subject, rng: Rng) -> Drill | None:
    """Choice: what does the record say here, among values like it?"""
    askable = [field for field in subject.fields if isinstance(field, Number | Day | Pick)]
    if not askable:
        return None
    field = rng.choice(askable)
    truth = field.show(subject.record[field.key], rng)
    others = _other_values(subject, field, rng)
    wrong = [text for text in dict.fromkeys(others) if text.casefold() != truth.casefold()]
    wrong = rng.sample(wrong, min(len(wrong), rng.integer(2, 6)))
    if not wrong:
        return None
    question = rng.choice(_VALUE_ASKS).format(label=field.label, noun=subject.noun, id=subject.name)
    return Drill("choice", question, tuple((text, None) for text in (truth, *wrong)), 0)


def ask_which(subject: Subject, rng: Rng) -> Drill | None:
    """Choice: which one of several statements is right (or wrong)?"""
    right = rng.chance(0.6)
    count = min(len(subject.fields), rng.integer(2, 5))
    told = []
    for place, field in enumerate(rng.sample(subject.fields, count)):
        clause = clause_with_truth(subject, field, (place == 0) == right, rng)
        if clause is None:
            return None
        told.append(clause.say(rng))
    if len(set(told)) < count:
        return None
    asks = _WHICH_RIGHT if right else _WHICH_WRONG
    question = rng.choice(asks).format(noun=subject.noun, id=subject.name)
    return Drill("choice", question, tuple((sentence(text), None) for text in told), 0)


def ask_count(subject: Subject, rng: Rng) -> Drill | None:
    """Score: how many of the listed conditions hold?"""
    count = min(len(subject.fields), rng.integer(2, 4))
    true = rng.integer(0, count)
    told = []
    for place, field in enumerate(rng.sample(subject.fields, count)):
        clause = clause_with_truth(subject, field, place < true, rng)
        if clause is None:
            return None
        told.append(clause.say(rng))
    question = f"{rng.choice(_COUNT_ASKS)}\n{bullets(rng.shuffled(told), rng)}"
    style = rng.below(3)
    levels = [str(number) for number in range(count + 1)]
    if style == 1:
        levels = ["none", *levels[1:-1], "all"]
    elif style == 2:
        levels = [f"{number} of {count}" for number in levels]
    options = tuple((str(number), text) for number, text in enumerate(levels))
    return Drill("score", question, options, true)


def ask_band(subject: Subject, rng: Rng) -> Drill | None:
    """Score: into which of several ranges does a number fall?"""
    numbers = [field for field in subject.fields if isinstance(field, Number)]
    if not numbers:
        return None
    field = rng.choice(numbers)
    value = subject.record[field.key]
    assert isinstance(value, int | float)
    count, unit = rng.integer(2, 5), 10.0**-field.decimals
    place = rng.below(count)
    width = max((field.high - field.low) * rng.choice((0.05, 0.15, 0.3)), 2 * unit)
    start = value - width * (place - 1 + rng.uniform())
    cuts = sorted({field.tidy(start + width * step) for step in range(count - 1)})
    if len(cuts) < count - 1 or cuts[0] <= field.low:
        return None
    answer = sum(value >= cut for cut in cuts)
    shown = [field.show(cut, rng) for cut in cuts]
    between = rng.choice(("{a} or more but less than {b}", "from {a} to under {b}"))
    ranges = [
        f"under {shown[0]}",
        *(between.format(a=low, b=high) for low, high in pairwise(shown)),
        f"{shown[-1]} or more",
    ]
    question = rng.choice(_BAND_ASKS).format(label=field.label, noun=subject.noun, id=subject.name)
    names = rng.choice(_BAND_NAMES)[count]
    falling = rng.chance(0.3)
    if falling:
        ranges, answer = ranges[::-1], count - 1 - answer
    if rng.chance(0.5):
        levels = ranges if names is None else _labelled(names, ranges)
    else:
        names = names or tuple(f"level {number}" for number in range(count))
        question = f"{question}\n{bullets(_labelled(names, ranges), rng)}"
        levels = list(names)
    options = tuple((str(number), text) for number, text in enumerate(levels))
    return Drill("score", question, options, answer)


def ask_route(subject: Subject, rng: Rng) -> Drill | None:
    """Choice: which of several routes does the record take, by the first rule that holds?"""
    count = rng.weighted((1, 2, 3, 4), (2, 4, 3, 1))
    if len(subject.fields) < count:
        return None
    taken = rng.below(count + 1)
    told: list[str] = []
    for place, field in enumerate(rng.sample(subject.fields, count)):
        wanted = place == taken or (place > taken and rng.chance(0.5))
        clause = clause_with_truth(subject, field, wanted, rng)
        if clause is None:
            return None
        told.append(clause.say(rng))
    names = rng.sample(rng.choice(_ROUTES), count + 1)
    ask = rng.choice(_ROUTE_ASKS).format(noun=subject.noun, id=subject.name)
    rest = rng.choice(("in every other case", "otherwise", "when nothing else applies"))
    if rng.chance(0.4):
        order = rng.choice(("Tried in order:", "The first that applies counts.", "In this order:"))
        ranked = [f"{number}. if {text}" for number, text in enumerate(told, 1)]
        described = (*ranked, f"{count + 1}. {rest}")
        return Drill("choice", f"{ask} {order}", tuple(zip(names, described, strict=True)), taken)
    lines = [f"{name}: if {text}" for name, text in zip(names, told, strict=False)]
    lines.append(f"{names[-1]}: {rest}")
    lead = rng.choice(("The first line that applies decides.", "Take the first match."))
    body = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    return Drill("choice", f"{lead}\n{body}\n{ask}", tuple((name, None) for name in names), taken)


ASKS: tuple[tuple[str, Callable[[Subject, Rng], Drill | None], float], ...] = (
    ("drill_fact", ask_fact, 5.0),
    ("drill_rule", ask_rule, 4.0),
    ("drill_value", ask_value, 2.0),
    ("drill_which", ask_which, 1.0),
    ("drill_count", ask_count, 1.5),
    ("drill_band", ask_band, 1.5),
    ("drill_route", ask_route, 2.0),
)


def clause_with_truth(subject: Subject, field: Field, wanted: bool, rng: Rng) -> Clause | None:
    """A condition on the field that is true or false as wanted; None when none was found."""
    value = subject.record[field.key]
    clause: Clause | None = draw_clause(field, rng)
    if clause is not None and rng.chance(0.6):
        # A shifted clause has its limit close to the value: a near miss of its opposite.
        clause = clause.shifted(value, rng)
    if clause is not None and clause.holds(value) is not wanted:
        clause = clause.shifted(value, rng) if rng.chance(0.5) else clause.denied()
    if clause is not None and isinstance(clause, Compares) and _below_range(clause):
        return None
    return clause if clause is not None and clause.holds(value) is wanted else None


def _below_range(clause: Compares) -> bool:
    """True for a limit no record would be held against, such as a negative amount."""
    return isinstance(clause.field, Number) and clause.limit <= min(clause.field.low, 0) - 1


def _rule_about(subject: Subject, count: int, rng: Rng) -> Rule | None:
    rule = draw_rule(subject.fields, count, rng)
    for clause in rule.clauses:
        near = clause_with_truth(subject, clause.field, rng.chance(0.5), rng)
        if near is None:
            return None
        rule = rule.swapped(clause, near)
    return rule


def stated(text: str, truth: bool, rng: Rng) -> Drill:
    """The text as a boolean question; a denial turns the answer round."""
    capital = f"{text[:1].upper()}{text[1:]}"
    if rng.chance(0.2):
        asked = rng.choice(DENIALS).format(text=text, capital=capital)
        return Drill("boolean", asked, YES_NO, int(not truth))
    if rng.chance(0.15):
        asked = rng.choice(("Which answer fits the record?", "Is the criterion met?", "Decide."))
        unmet = rng.choice((None, "That is not so.", "Otherwise."))
        return Drill("boolean", asked, (("no", unmet), ("yes", sentence(text))), int(truth))
    forms = [form for group in STATEMENTS.values() for form in group] + list(_SHORT)
    return Drill(
        "boolean", rng.choice(forms).format(text=text, capital=capital), YES_NO, int(truth)
    )


def _other_values(subject: Subject, field: Field, rng: Rng) -> list[str]:
    value = subject.record[field.key]
    if isinstance(field, Pick):
        return [name for name in field.values if name != value]
    others: list[str] = []
    if isinstance(field, Number):
        assert isinstance(value, int | float)
        unit = 10.0**-field.decimals
        near = [value + unit, value - unit, value + 10 * unit, value * 10, value / 10]
        tidied = [field.tidy(number) for number in rng.sample(near, 3)]
        others = [field.show(number, rng) for number in tidied if number != value]
    if isinstance(field, Day):
        assert isinstance(value, date)
        others = [
            field.show(value + timedelta(days=days), rng)
            for days in rng.sample((1, -1, 7, 30, -31, 365), 3)
        ]
    drawn = [field.draw(rng) for _ in range(3)]
    others += [field.show(other, rng) for other in drawn if other != value]
    others += [
        other.show(subject.record[other.key], rng)
        for other in subject.fields
        if other is not field and not isinstance(other, Flag)
    ]
    return rng.shuffled(others)


def _labelled(names: tuple[str, ...], ranges: list[str]) -> list[str]:
    return [f"{name}: {text}" for name, text in zip(names, ranges, strict=True)]


_TABLES = Tables(__file__)
_SHORT = _TABLES.words("short")
_VALUE_ASKS = _TABLES.words("value_asks")
_WHICH_RIGHT = _TABLES.words("which_right")
_WHICH_WRONG = _TABLES.words("which_wrong")
_COUNT_ASKS = _TABLES.words("count_asks")
_BAND_ASKS = _TABLES.words("band_asks")
_BAND_NAMES = _TABLES.read("band_names", tuple[dict[int, tuple[str, ...] | None], ...])
_ROUTES = _TABLES.rows("routes")
_ROUTE_ASKS = _TABLES.words("route_asks")
