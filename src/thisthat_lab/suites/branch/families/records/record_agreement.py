"""Score: on how many of the named fields do two records agree?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import join
from thisthat_lab.suites.records.asking import ask, numbered_levels
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import draw_names
from thisthat_lab.suites.records.fields import Record, RecordType, TagsField
from thisthat_lab.suites.records.pairs import agree, draw_other
from thisthat_lab.suites.records.rubric_text import draw_scale
from thisthat_lab.suites.records.sheets import write_records
from thisthat_lab.tables import Tables


@dataclass(frozen=True)
class Case:
    """Two records and the fields to compare; ``differing`` counts differences instead."""

    kind: RecordType
    names: tuple[str, str]
    left: Record
    right: Record
    shown: tuple[str, ...]
    fields: tuple[str, ...]
    differing: bool
    setting: Setting


def draw(rng: Rng, setting: Setting) -> Case:
    """A pair that agrees on a number of fields drawn evenly."""
    kind = rng.choice(record_types())
    plain = [field.phrase for field in kind.fields if not isinstance(field, TagsField)]
    size = min(len(plain), setting.clauses + 1)
    fields = rng.sample(plain, size)
    agreeing = set(rng.sample(fields, rng.integer(0, size)))
    agreeing |= {name for name in plain if name not in fields and rng.chance(0.5)}
    left = kind.draw(rng)
    right = draw_other(rng, kind, left, agreeing)
    spare = [name for name in plain if name not in fields]
    shown = [*fields, *rng.sample(spare, min(len(spare), setting.distractors))]
    if setting.abstain:
        extra = [name for name in shown if name not in fields]
        open_end = rng.chance(1 / (size + 2)) or not extra
        right[rng.choice(fields if open_end else extra)] = None
    names = draw_names(rng, kind, 2)
    return Case(
        kind,
        (names[0], names[1]),
        left,
        right,
        tuple(rng.shuffled(shown)),
        tuple(fields),
        rng.chance(0.35),
        setting,
    )


def solve(case: Case) -> int:
    """The number of agreeing (or differing) fields; one past the last level when open."""
    marks = [agree(case.left, case.right, name) for name in case.fields]
    if None in marks:
        return len(case.fields) + 1
    return sum(mark is not case.differing for mark in marks)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same pair with other fields to compare, or differences instead of agreements."""
    others = (
        replace(
            case, fields=tuple(rng.sample(case.shown, len(case.fields))), differing=rng.chance(0.5)
        )
        for _ in range(12)
    )
    return turned(case, others, solve, len(case.fields) + 1)


def render(case: Case, rng: Rng) -> Asked:
    """Both records; the question names the fields."""
    rows = list(zip(case.names, (case.left, case.right), strict=True))
    sheet = write_records(rng, case.kind, rng.shuffled(rows), case.shown)
    listed = join([f"'{name}'" for name in case.fields], "and")
    word = rng.choice(("differ", "disagree") if case.differing else ("agree", "match"))
    count = len(case.fields)
    question = rng.choice(QUESTIONS).format(listed=listed, word=word, count=count)
    if rng.chance(0.5):
        levels = [_count(index, count, word) for index in range(count + 1)]
    else:
        levels = list(draw_scale(rng, count + 1))
        if not levels[0].isdigit():
            question += f" Count them: the lowest level means 0, the highest means {count}."
        else:
            levels = [str(index) for index in range(count + 1)]
    return ask(
        rng,
        [(rng.choice(("records", "pair", "two entries", "before and after")), sheet.content)],
        question,
        numbered_levels(levels),
        deciding=sheet.pieces_of(case.fields),
        setting=case.setting,
        levels=count + 1,
    )


def _count(index: int, count: int, word: str) -> str:
    if index == 0:
        return f"none of the fields {word}"
    return f"all {count} fields {word}" if index == count else f"{index} of {count} fields {word}"


_TABLES = Tables(__file__)
QUESTIONS = _TABLES.words("questions")
FAMILY = branch_family("record_agreement", "score", draw, solve, render, twin, held_out=True)
