"""Boolean: do two records report the same thing, by a rule that says which fields must agree?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import join
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import draw_names
from thisthat_lab.suites.records.fields import DateField, Record, RecordType, TagsField, read_types
from thisthat_lab.suites.records.pairs import agree, draw_other
from thisthat_lab.suites.records.sheets import write_records
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
TYPES = (*read_types(_TABLES.words("types")), *record_types())
OPEN = 2


@dataclass(frozen=True)
class Case:
    """Two records; they are duplicates when ``fields`` agree and the days are close enough."""

    kind: RecordType
    names: tuple[str, str]
    left: Record
    right: Record
    shown: tuple[str, ...]
    fields: tuple[str, ...]
    day: str | None
    window: int
    same_asked: bool
    setting: Setting


def draw(rng: Rng, setting: Setting) -> Case:
    """A pair that agrees on everything the rule names, or on all but one point."""
    kind = rng.choice(TYPES)
    days = [field.phrase for field in kind.fields if isinstance(field, DateField)]
    plain = [field.phrase for field in kind.fields if not isinstance(field, (DateField, TagsField))]
    fields = rng.sample(plain, min(setting.clauses, len(plain) - 1))
    day = days[0] if days and rng.chance(0.6) else None
    window = rng.choice((1, 2, 3, 5, 7, 10, 14, 30))
    left = kind.draw(rng)
    agreeing = set(fields) | {name for name in plain if rng.chance(0.5)}
    duplicate = rng.chance(0.5)
    broken = None if duplicate else rng.choice([*fields, *([day] if day else [])])
    if broken in fields:
        agreeing.discard(str(broken))
    right = draw_other(rng, kind, left, agreeing)
    if day is not None:
        apart = window + rng.integer(1, 6) if broken == day else rng.integer(0, window)
        start = int(str(left[day]))
        right[day] = start - apart if rng.chance(0.5) and start >= apart else start + apart
    extra = [name for name in (*plain, *days) if name not in (*fields, day)]
    shown = [*fields, *([day] if day else [])]
    shown += rng.sample(extra, min(len(extra), max(1, setting.distractors)))
    names = draw_names(rng, kind, 2)
    facts = dict(right)
    if setting.abstain:
        deciding = rng.chance(1 / 3) and duplicate
        loose = [name for name in shown if name not in (*fields, day)]
        facts[rng.choice(fields if deciding or not loose else loose)] = None
    return Case(
        kind,
        (names[0], names[1]),
        left,
        facts,
        tuple(rng.shuffled(shown)),
        tuple(fields),
        day,
        window,
        rng.chance(0.6),
        setting,
    )


def duplicates(case: Case) -> bool | None:
    """Whether the rule makes the two duplicates; None when a missing fact leaves it open."""
    marks = [agree(case.left, case.right, name) for name in case.fields]
    if case.day is not None:
        apart = abs(int(str(case.left[case.day])) - int(str(case.right[case.day])))
        marks.append(apart <= case.window)
    if False in marks:
        return False
    return None if None in marks else True


def solve(case: Case) -> int:
    """0 for no, 1 for yes, 2 for open."""
    answer = duplicates(case)
    return OPEN if answer is None else int(answer == case.same_asked)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same pair under a rule that asks for other fields or another window."""
    usable = [name for name in case.shown if name != case.day]
    count = min(len(case.fields), len(usable))
    others = (
        replace(case, fields=tuple(rng.sample(usable, count)), window=rng.integer(1, 30))
        for _ in range(12)
    )
    # A pair that is open has no twin.
    return turned(case, (other for other in others if solve(case) != OPEN), solve, OPEN)


def render(case: Case, rng: Rng) -> Asked:
    """Both records and the rule."""
    rows = list(zip(case.names, (case.left, case.right), strict=True))
    sheet = write_records(rng, case.kind, rng.shuffled(rows), case.shown)
    needed = [*case.fields, *([case.day] if case.day else [])]
    listed = join([f"'{name}'" for name in case.fields], "and")
    rule = rng.choice(RULES).format(listed=listed, noun=case.kind.noun)
    if case.day is not None:
        rule += rng.choice(DAYS).format(day=case.day, window=case.window)
    question = rng.choice(SAME if case.same_asked else DIFFERENT)
    question = question.format(left=case.names[0], right=case.names[1], noun=case.kind.noun)
    sections = [(rng.choice(("records", "entries", "pair", "candidates")), sheet.content)]
    in_state = rng.chance(0.5)
    if in_state:
        sections.append((rng.choice(("matching rule", "duplicate rule", "policy")), rule))
    else:
        question = f"{rule} {question}"
    return ask(
        rng,
        sections,
        question,
        deciding=sheet.pieces_of(needed),
        rule=[rule] if in_state else (),
        setting=case.setting,
    )


RULES = _TABLES.words("rules")
DAYS = _TABLES.words("days")
SAME = _TABLES.words("same")
DIFFERENT = _TABLES.words("different")
FAMILY = branch_family("duplicate_ticket", "boolean", draw, solve, render, twin)
