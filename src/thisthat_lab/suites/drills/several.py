"""Drills about several records of one kind: read one of them, hold two together, look over all.

What the branch families that compare records are made of, one step at a time. Three names in four
are short, so that matching ids of four digits need not be learned first. A value may be written
otherwise in the question than in the state ($3,220 and 3220). Held-out families ask which of
several days comes first, in how many fields two records agree, and which record agrees with
another: here days are compared by twos, and records in one field at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from string import ascii_uppercase

from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import YES_NO
from thisthat_lab.suites.base.wording import FIRST_NAMES, remarks
from thisthat_lab.suites.drills.asking import Drill, Options
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import draw_names
from thisthat_lab.suites.records.fields import (
    DateField,
    Field,
    FlagField,
    NumberField,
    PickField,
    Record,
    RecordType,
    TagsField,
    Value,
    say,
)
from thisthat_lab.suites.records.pairs import draw_other
from thisthat_lab.suites.records.sheets import compose, write_records
from thisthat_lab.tables import Tables


@dataclass(frozen=True)
class Several:
    """Records as they are shown: the state, their noun, names and values, the fields on show."""

    state: Text
    noun: str
    names: tuple[str, ...]
    records: tuple[Record, ...]
    fields: tuple[Field, ...]

    @property
    def options(self) -> Options:
        """The records as the options of a choice."""
        return tuple((name, None) for name in self.names)

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
        agreeing = {field.phrase for field in kind.fields if rng.chance(0.5)}
        records.append(draw_other(rng, kind, records[0], agreeing))
    records = rng.shuffled(records)
    names = _draw_names(rng, kind, records)
    rows = list(zip(names, records, strict=True))
    sheet = write_records(rng, kind, rows, [field.phrase for field in fields])
    sections = [(rng.choice(("records", "entries", "list", kind.noun)), sheet.content)]
    if rng.chance(extra_notes):
        sections.append(("notes", " ".join(remarks(rng, rng.integer(1, 6)))))
    state = compose(rng, rng.shuffled(sections))
    return Several(state, kind.noun, tuple(names), tuple(records), tuple(fields))


def _draw_names(rng: Rng, kind: RecordType, records: Sequence[Record]) -> list[str]:
    """Different names, none of them a value: ids of many digits, first names or letters."""
    style = rng.weighted(("ids", "people", "letters"), (1, 2, 1))
    if style == "ids":
        return draw_names(rng, kind, len(records))
    held = {value for record in records for value in record.values()}
    pool = FIRST_NAMES if style == "people" else _LETTERS
    return rng.sample([name for name in pool if name not in held], len(records))


def ask_value_of(several: Several, rng: Rng) -> Drill | None:
    """Choice: what does one record have in a field, among what the others have and more?"""
    field = rng.choice(several.fields)
    held = several.values(field)
    known = list(dict.fromkeys(held))
    if isinstance(field, FlagField) or len(known) < 2:
        return None
    # A value first, then who has it: what most records have is right no more often.
    value = rng.choice(known)
    place = rng.choice([place for place, each in enumerate(held) if each == value])
    others = [*known, field.draw(rng), field.draw(rng)]
    wrong = [say(field, other) for other in dict.fromkeys(others) if other != value][:6]
    question = _form(_VALUE_OF, field, rng).format(field=field.phrase, name=several.names[place])
    texts = (say(field, value), *wrong)
    return Drill("choice", question, tuple((text, None) for text in texts), 0)


def ask_holder(several: Several, rng: Rng) -> Drill | None:
    """Choice: which record has this value?"""
    field = rng.choice(several.fields)
    held = several.values(field)
    alone = [place for place, value in enumerate(held) if held.count(value) == 1]
    if not alone:
        return None
    answer = rng.choice(alone)
    question = _form(_HOLDER, field, rng).format(
        noun=several.noun, field=field.phrase, value=say(field, held[answer])
    )
    return Drill("choice", question, several.options, answer)


def ask_same(several: Several, rng: Rng) -> Drill | None:
    """Boolean: do two records have the same in a field?"""
    wanted = rng.chance(0.5)
    found = _pair(several, several.fields, rng, lambda left, right: (left == right) is wanted)
    if found is None:
        return None
    field, left, right = found
    forms, turned = (_SAME, False) if rng.chance(0.6) else (_DIFFERENT, True)
    question = _about_two(_form(forms, field, rng), field, several, left, right)
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
    form = _form(_COMPARED, field, rng)
    question = _about_two(form, field, several, left, right, more=_more(field, rising, rng))
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
    question = _form(forms, field, rng).format(noun=several.noun, field=field.phrase)
    return Drill("choice", question, several.options, ranks.index(top))


def ask_how_many(several: Several, rng: Rng) -> Drill:
    """Score: how many records satisfy a condition? Every number it can be is as likely."""
    found = _conditions(several, rng)
    wanted = rng.choice(sorted({sum(holds) for _, holds in found}))
    told, _ = rng.choice([each for each in found if sum(each[1]) == wanted])
    count = len(several.names)
    levels = [str(number) for number in range(count + 1)]
    if rng.chance(0.4):
        levels = ["none", *levels[1:-1], "all"]
    options = tuple((str(number), text) for number, text in enumerate(levels))
    return Drill("score", rng.choice(_HOW_MANY).format(told=told), options, wanted)


def ask_any(several: Several, rng: Rng) -> Drill | None:
    """Boolean: does any record, or does every one, satisfy a condition?"""
    every = rng.chance(0.5)
    sides: tuple[list[str], list[str]] = ([], [])
    for told, holds in _conditions(several, rng):
        sides[all(holds) if every else any(holds)].append(told)
    if not all(sides):
        return None
    answer = rng.below(2)
    forms = _EVERY if every else _ANY
    question = rng.choice(forms).format(told=rng.choice(sides[answer]))
    return Drill("boolean", question, YES_NO, answer)


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
    several: Several, fields: Sequence[Field], rng: Rng, suits: Callable[[Value, Value], bool]
) -> tuple[Field, int, int] | None:
    """A field and two records whose values in it suit, in this order; None if there are none."""
    places = range(len(several.names))
    for field in rng.shuffled(fields):
        pairs = [pair for two in combinations(places, 2) for pair in (two, two[::-1])]
        for left, right in rng.shuffled(pairs):
            if suits(several.value(left, field), several.value(right, field)):
                return field, left, right
    return None


def _conditions(several: Several, rng: Rng) -> list[tuple[str, list[bool]]]:
    """Conditions of one form on one field, each in words and with what it is for every record.

    They hold for as many records, and as few, as a condition of that form can.
    """
    field = rng.choice(several.fields)
    held = several.values(field)
    if isinstance(field, NumberField | DateField) and rng.chance(0.6):
        rising = rng.chance(0.5)
        step = field.step if isinstance(field, NumberField) else 1
        ranks = [_rank(value) for value in held]
        limits = sorted({rank + shift for rank in ranks for shift in (-step, 0, step)})
        more = _more(field, rising, rng)
        return [
            (
                f"'{field.phrase}' {more} than {say(field, limit)}",
                [rank > limit if rising else rank < limit for rank in ranks],
            )
            for limit in limits
            if limit >= 0  # no record has less than nothing, or a day before the calendar
        ]
    values = dict.fromkeys([*held, *(field.draw(rng) for _ in range(_OTHER_VALUES))])
    form = rng.choice(("'{field}': {value}", "{value} under '{field}'"))
    return [
        (form.format(field=field.phrase, value=say(field, value)), [each == value for each in held])
        for value in values
    ]


def _form(forms: Sequence[str], field: Field, rng: Rng) -> str:
    """One of the forms; for a field that is no noun with a number, one that quotes it."""
    plain = (
        isinstance(field, PickField)
        or (isinstance(field, NumberField) and field.unit)
        or (isinstance(field, DateField) and field.phrase.endswith("date"))
    )
    return rng.choice([form for form in forms if plain or "'{field}'" in form])


def _more(field: Field, rising: bool, rng: Rng) -> str:
    if isinstance(field, DateField):
        return "later" if rising else "earlier"
    return rng.choice(_HIGHER if rising else _LOWER)


def _rank(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _about_two(
    form: str, field: Field, several: Several, left: int, right: int, **words: str
) -> str:
    a, b = several.names[left], several.names[right]
    return form.format(field=field.phrase, a=a, b=b, **words)


_TABLES = Tables(__file__)
_VALUE_OF = _TABLES.words("value_of")
_HOLDER = _TABLES.words("holder")
_SAME = _TABLES.words("same")
_DIFFERENT = _TABLES.words("different")
_COMPARED = _TABLES.words("compared")
_HIGHER, _LOWER = ("higher", "larger", "greater"), ("lower", "smaller")
_HIGHEST = _TABLES.words("highest")
_LOWEST = _TABLES.words("lowest")
_HOW_MANY = _TABLES.words("how_many")
_ANY = _TABLES.words("any")
_EVERY = _TABLES.words("every")
# "Do I and J differ?" reads as somebody who asks.
_LETTERS = tuple(letter for letter in ascii_uppercase if letter != "I")
_OTHER_VALUES = 3
