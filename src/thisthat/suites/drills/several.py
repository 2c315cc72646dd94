"""Drills about several records of one kind: read one of them, hold two together, look over all.

What the branch families that compare records are made of, one step at a time. Three names in four
are short, because a model that has to find a record by four digits first learns nothing else from
it. Which of several days comes first is not asked: a held-out family asks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_uppercase

from thisthat.questions import Text
from thisthat.random import Rng
from thisthat.suites.branch.wording import FIRST_NAMES, remarks
from thisthat.suites.drills.asking import Drill
from thisthat.suites.family import YES_NO
from thisthat.suites.records.catalogue import record_types
from thisthat.suites.records.checks import draw_names
from thisthat.suites.records.fields import (
    DateField,
    Field,
    FlagField,
    NumberField,
    Record,
    RecordType,
    TagsField,
    Value,
    say,
)
from thisthat.suites.records.pairs import draw_other
from thisthat.suites.records.sheets import compose, write_records

_TRIES = 16


@dataclass(frozen=True)
class Several:
    """Records as they are shown: the state, their noun, names and values, the fields on show."""

    state: Text
    noun: str
    names: tuple[str, ...]
    records: tuple[Record, ...]
    fields: tuple[Field, ...]

    def value(self, place: int, field: Field) -> Value:
        """What a record has in a field."""
        return self.records[place][field.phrase]

    def values(self, field: Field) -> list[Value]:
        """What all records have in a field, in their order."""
        return [record[field.phrase] for record in self.records]


def draw_several(rng: Rng, extra_notes: float) -> Several:
    """Two to six records that share about half their values; a share stands beside idle notes."""
    kind = rng.choice(record_types())
    plain = [field for field in kind.fields if not isinstance(field, TagsField)]
    fields = rng.sample(plain, rng.integer(2, len(plain)))
    records: list[Record] = [kind.draw(rng)]
    for _ in range(rng.weighted((1, 2, 3, 4, 5), (4, 4, 3, 2, 1))):
        like = rng.choice(records)
        agreeing = {field.phrase for field in kind.fields if rng.chance(0.5)}
        records.append(draw_other(rng, kind, like, agreeing))
    records = rng.shuffled(records)
    names = _draw_names(rng, kind, len(records))
    rows = list(zip(names, records, strict=True))
    sheet = write_records(rng, kind, rows, [field.phrase for field in fields])
    sections = [(rng.choice(("records", "entries", "list", kind.noun)), sheet.content)]
    if rng.chance(extra_notes):
        sections.append(("notes", " ".join(remarks(rng, rng.integer(1, 6)))))
    state = compose(rng, rng.shuffled(sections))
    return Several(state, kind.noun, tuple(names), tuple(records), tuple(fields))


def _draw_names(rng: Rng, kind: RecordType, count: int) -> list[str]:
    """Different names: ids of many digits, or what is told apart at its first token."""
    style = rng.choice(("ids", "people", "letters", "numbers"))
    if style == "ids":
        return draw_names(rng, kind, count)
    if style == "people":
        return rng.sample(FIRST_NAMES, count)
    if style == "letters":
        return rng.sample(ascii_uppercase, count)
    return [f"item {number}" for number in rng.sample(range(1, 10), count)]


def ask_value_of(several: Several, rng: Rng) -> Drill | None:
    """Choice: what does one record have in a field, among what the others have and more?"""
    field = rng.choice(several.fields)
    if isinstance(field, FlagField):
        return None
    place = rng.below(len(several.names))
    truth = say(field, several.value(place, field))
    others = [say(field, value) for value in several.values(field)]
    others += [say(field, field.draw(rng)) for _ in range(2)]
    wrong = [text for text in dict.fromkeys(others) if text != truth]
    if not wrong:
        return None
    question = rng.choice(_VALUE_OF).format(field=field.phrase, name=several.names[place])
    return Drill("choice", question, tuple((text, None) for text in (truth, *wrong[:6])), 0)


def ask_holder(several: Several, rng: Rng) -> Drill | None:
    """Choice: which record has this value, or is it none of them?"""
    field = rng.choice(several.fields)
    held = several.values(field)
    counts = Counter(held)
    alone = [place for place, value in enumerate(held) if counts[value] == 1]
    offers_none = rng.chance(0.3)
    options: list[tuple[str, str | None]] = [(name, None) for name in several.names]
    if offers_none:
        options.append((rng.choice(_NONE), None))
    value: Value
    if offers_none and rng.chance(1 / len(options)):
        value, answer = field.draw(rng), len(options) - 1
        if value in counts:
            return None
    elif alone:
        answer = rng.choice(alone)
        value = held[answer]
    else:
        return None
    question = rng.choice(_HOLDER).format(
        noun=several.noun, field=field.phrase, value=say(field, value)
    )
    return Drill("choice", question, tuple(options), answer)


def ask_same(several: Several, rng: Rng) -> Drill | None:
    """Boolean: do two records have the same in a field?"""
    wanted = rng.chance(0.5)
    found = _pair(several, several.fields, rng, lambda left, right: (left == right) is wanted)
    if found is None:
        return None
    field, left, right = found
    forms, turned = (_SAME, False) if rng.chance(0.6) else (_DIFFERENT, True)
    question = _about_two(rng.choice(forms), field, several, left, right)
    return Drill("boolean", question, YES_NO, int(wanted != turned))


def ask_more(several: Several, rng: Rng) -> Drill | None:
    """Boolean: has one record more in a field than another, or is its day the later one?"""
    ranked = [field for field in several.fields if isinstance(field, NumberField | DateField)]
    wanted, rising = rng.chance(0.5), rng.chance(0.5)

    def suits(left: Value, right: Value) -> bool:
        return left != right and (_rank(left) > _rank(right)) is (wanted is rising)

    found = _pair(several, ranked, rng, suits)
    if found is None:
        return None
    field, left, right = found
    question = _about_two(rng.choice(_COMPARED), field, several, left, right)
    question = question.format(more=_more(field, rising, rng))
    return Drill("boolean", question, YES_NO, int(wanted))


def ask_most(several: Several, rng: Rng) -> Drill | None:
    """Choice: which record has the highest (or lowest) number in a field?"""
    numbers = [field for field in several.fields if isinstance(field, NumberField)]
    if not numbers:
        return None
    field, highest = rng.choice(numbers), rng.chance(0.5)
    ranks = [_rank(value) for value in several.values(field)]
    top = max(ranks) if highest else min(ranks)
    if ranks.count(top) > 1:
        return None
    forms = _HIGHEST if highest else _LOWEST
    question = rng.choice(forms).format(noun=several.noun, field=field.phrase)
    return Drill(
        "choice", question, tuple((name, None) for name in several.names), ranks.index(top)
    )


def ask_how_many(several: Several, rng: Rng) -> Drill | None:
    """Score: how many records have this value, or more than this number?"""
    told, holds = _condition(several, rng)
    count = len(several.names)
    levels = [str(number) for number in range(count + 1)]
    if rng.chance(0.4):
        levels = ["none", *levels[1:-1], "all"]
    options = tuple((str(number), text) for number, text in enumerate(levels))
    return Drill("score", rng.choice(_HOW_MANY).format(told=told), options, sum(holds))


def ask_any(several: Several, rng: Rng) -> Drill | None:
    """Boolean: does any record, or does every one, satisfy a condition?"""
    wanted, every = rng.chance(0.5), rng.chance(0.5)
    for _ in range(_TRIES):
        told, holds = _condition(several, rng)
        if (all(holds) if every else any(holds)) is wanted:
            forms = _EVERY if every else _ANY
            return Drill("boolean", rng.choice(forms).format(told=told), YES_NO, int(wanted))
    return None


ASKS_OF_SEVERAL: tuple[tuple[str, Callable[[Several, Rng], Drill | None], float], ...] = (
    ("drill_value_of", ask_value_of, 2.0),
    ("drill_holder", ask_holder, 2.0),
    ("drill_same", ask_same, 3.0),
    ("drill_more", ask_more, 2.0),
    ("drill_most", ask_most, 1.5),
    ("drill_how_many", ask_how_many, 1.0),
    ("drill_any", ask_any, 1.0),
)


def _pair(
    several: Several,
    fields: Sequence[Field],
    rng: Rng,
    suits: Callable[[Value, Value], bool],
) -> tuple[Field, int, int] | None:
    """A field and two records whose values in it suit, in this order; None if there are none."""
    places = range(len(several.names))
    for field in rng.shuffled(fields):
        pairs = [pair for two in combinations(places, 2) for pair in (two, two[::-1])]
        for left, right in rng.shuffled(pairs):
            if suits(several.value(left, field), several.value(right, field)):
                return field, left, right
    return None


def _condition(several: Several, rng: Rng) -> tuple[str, list[bool]]:
    """A condition in words, and for every record whether it holds."""
    field = rng.choice(several.fields)
    held = several.values(field)
    value = rng.choice(held) if rng.chance(0.8) else field.draw(rng)
    shown = say(field, value)
    if isinstance(field, NumberField | DateField) and rng.chance(0.7):
        after = rng.chance(0.5)
        told = f"'{field.phrase}' {_more(field, after, rng)} than {shown}"
        limit = _rank(value)
        return told, [_rank(each) > limit if after else _rank(each) < limit for each in held]
    told = rng.choice(("'{field}': {value}", "{field} {value}", "{value} under '{field}'"))
    return told.format(field=field.phrase, value=shown), [each == value for each in held]


def _more(field: Field, rising: bool, rng: Rng) -> str:
    if isinstance(field, DateField):
        return "later" if rising else "earlier"
    return rng.choice(_HIGHER if rising else _LOWER)


def _rank(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _about_two(form: str, field: Field, several: Several, left: int, right: int) -> str:
    a, b = several.names[left], several.names[right]
    return form.format(field=field.phrase, a=a, b=b, noun=several.noun, more="{more}")


_VALUE_OF = (
    "What is the {field} of {name}?",
    "{name}: {field}?",
    "Which {field} does {name} have?",
    "Look up {name}. What stands under '{field}'?",
)
_HOLDER = (
    "Which {noun} has {value} under '{field}'?",
    "Which one has '{field}': {value}?",
    "'{field}' is {value}. Which {noun} is that?",
    "Find the {noun} with {field} {value}.",
)
_NONE = ("none of them", "no such entry", "none")
_SAME = (
    "Do {a} and {b} have the same {field}?",
    "Is '{field}' equal for {a} and {b}?",
    "Do {a} and {b} agree in '{field}'?",
    "Same {field} in {a} as in {b}?",
)
_DIFFERENT = (
    "Do {a} and {b} differ in '{field}'?",
    "Is the {field} of {a} another than that of {b}?",
    "Is '{field}' different for {a} and {b}?",
)
_COMPARED = (
    "Is '{field}' {more} for {a} than for {b}?",
    "Is the {field} of {a} {more} than that of {b}?",
    "Compared with {b}, is '{field}' of {a} {more}?",
)
_HIGHER, _LOWER = ("higher", "larger", "greater"), ("lower", "smaller", "less")
_HIGHEST = (
    "Which {noun} has the highest {field}?",
    "Where is '{field}' largest?",
    "Which one leads in '{field}'?",
)
_LOWEST = (
    "Which {noun} has the lowest {field}?",
    "Where is '{field}' smallest?",
    "Which one has the least under '{field}'?",
)
_HOW_MANY = (
    "How many of them have {told}?",
    "Count the entries with {told}.",
    "For how many is this so: {told}?",
)
_ANY = (
    "Is there one with {told}?",
    "Does any of them have {told}?",
    "Is this so for at least one: {told}?",
)
_EVERY = (
    "Is this so for all of them: {told}?",
    "Does every one have {told}?",
    "Do all entries have {told}?",
)
