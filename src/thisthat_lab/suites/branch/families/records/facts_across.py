"""Boolean: is a statement about several records so? Any, all, more than; larger, same, only one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import COUNT_WORDS
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import draw_names
from thisthat_lab.suites.records.conditions import Condition, draw_condition, sentence
from thisthat_lab.suites.records.fields import (
    DateField,
    FlagField,
    NumberField,
    Record,
    RecordType,
    TagsField,
)
from thisthat_lab.suites.records.sheets import write_records
from thisthat_lab.tables import Tables

FORMS = ("any", "all", "none", "at least", "exactly", "larger", "smaller", "same", "largest")


@dataclass(frozen=True)
class Case:
    """Records and what is said of them.

    Counting forms use ``condition`` and ``number``; the others compare ``field`` of the records
    at ``left`` and ``right`` (for "largest": of the one at ``left`` with all others).
    """

    kind: RecordType
    rows: tuple[tuple[str, Record], ...]
    shown: tuple[str, ...]
    form: str
    condition: Condition
    number: int
    left: int
    right: int
    denied: bool
    setting: Setting

    @property
    def phrase(self) -> str:
        """The field that is looked at."""
        return self.condition.field.phrase


def holds(case: Case) -> bool:
    """Whether the statement is true of the records."""
    if case.form in ("any", "all", "none", "at least", "exactly"):
        count = sum(bool(case.condition.holds(record)) for _, record in case.rows)
        return {
            "any": count > 0,
            "all": count == len(case.rows),
            "none": count == 0,
            "at least": count >= case.number,
            "exactly": count == case.number,
        }[case.form]
    values = [record[case.phrase] for _, record in case.rows]
    if case.form == "same":
        return values[case.left] == values[case.right]
    numbers = [int(str(value)) for value in values]
    if case.form == "larger":
        return numbers[case.left] > numbers[case.right]
    if case.form == "smaller":
        return numbers[case.left] < numbers[case.right]
    others = numbers[: case.left] + numbers[case.left + 1 :]
    return numbers[case.left] > max(others)


def draw(rng: Rng, setting: Setting) -> Case | None:
    """A statement that is true or false equally often, close to the edge."""
    kind = rng.choice(record_types())
    size = rng.integer(2, min(7, 2 + setting.clauses + setting.distractors // 4))
    want = rng.chance(0.5)
    form = rng.choice(FORMS)
    denied = rng.chance(0.3)
    usable = [
        field
        for field in kind.fields
        if (isinstance(field, (NumberField, DateField)) if form in ("larger", "smaller", "largest")
            else not (form == "same" and isinstance(field, (TagsField, FlagField))))
    ]  # fmt: skip
    field = rng.choice(usable)
    names = draw_names(rng, kind, size)
    shown = {field.phrase} | {
        other.phrase
        for other in rng.sample(kind.fields, min(len(kind.fields), 1 + setting.distractors))
    }
    left, right = rng.sample(range(size), 2)
    for _ in range(40):
        rows = [kind.draw(rng) for _ in range(size)]
        if form == "same" and rng.chance(0.5):
            rows[right][field.phrase] = rows[left][field.phrase]
        if form == "largest" and isinstance(field, (NumberField, DateField)):
            values = [int(str(row[field.phrase])) for row in rows]
            top = values.index(max(values))
            if want:
                left = top
        base = rows[rng.below(size)]
        condition = draw_condition(rng, field, base[field.phrase], rng.chance(0.5))
        met = sum(bool(condition.holds(row)) for row in rows)
        said = met + (0 if want != denied else (1 if form == "at least" else rng.choice((-1, 1))))
        if form in ("at least", "exactly") and not 1 <= said <= size:
            continue
        case = Case(
            kind,
            tuple(zip(names, rows, strict=True)),
            tuple(rng.shuffled(sorted(shown))),
            form,
            condition,
            said,
            left,
            right,
            denied,
            setting,
        )
        if holds(case) == (want != denied):
            return case
    return None


def solve(case: Case) -> int:
    """Yes when the statement is so (or not so, if that is asked)."""
    return int(holds(case) != case.denied)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same records under another statement of the same form."""
    return turned(case, (_changed(case, rng) for _ in range(12)), solve)


def _changed(case: Case, rng: Rng) -> Case:
    _, record = rng.choice(case.rows)
    field = case.condition.field
    condition = draw_condition(rng, field, record[field.phrase], rng.chance(0.5))
    left, right = rng.sample(range(len(case.rows)), 2)
    number = rng.integer(1, len(case.rows))
    return replace(case, condition=condition, left=left, right=right, number=number)


def render(case: Case, rng: Rng) -> Asked:
    """The records, then the statement as a question."""
    sheet = write_records(rng, case.kind, case.rows, case.shown)
    noun = case.kind.noun
    left, right = case.rows[case.left][0], case.rows[case.right][0]
    said = sentence(rng, case.condition, noun)
    count = COUNT_WORDS[case.number]
    day = isinstance(case.condition.field, DateField)
    phrase = f"'{case.phrase}'"
    texts = {
        "any": f"there is at least one {noun} where {said}",
        "all": f"for every {noun} {said}",
        "none": f"there is no {noun} where {said}",
        "at least": f"for at least {count} of the listed {said}",
        "exactly": f"for exactly {count} of the listed {said}",
        "larger": f"{phrase} is {'later' if day else 'higher'} for {left} than for {right}",
        "smaller": f"{phrase} is {'earlier' if day else 'lower'} for {left} than for {right}",
        "same": f"{left} and {right} have the same {phrase}",
        "largest": f"no other {noun} comes up to {left} in {phrase}",
    }
    if day and case.form == "largest":
        texts["largest"] = f"{left} has a later {phrase} date than all the others"
    question = rng.choice(DENIED if case.denied else ASKED).format(text=texts[case.form])
    rows = range(len(case.rows))
    needed = [case.left, case.right] if case.form in ("larger", "smaller", "same") else list(rows)
    return ask(
        rng,
        [(rng.choice(("list", "records", "table", f"{noun} list")), sheet.content)],
        question,
        deciding=[sheet.pieces[row, case.phrase] for row in needed],
        setting=case.setting,
        form=case.form,
    )


_TABLES = Tables(__file__)
ASKED = _TABLES.words("asked")
DENIED = _TABLES.words("denied")
FAMILY = branch_family("facts_across", "boolean", draw, solve, render, twin, abstains=False)
