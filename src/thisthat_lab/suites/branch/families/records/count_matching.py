"""Score: how many of the listed records satisfy a rule?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.records.asking import ask, numbered_levels
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import draw_names
from thisthat_lab.suites.records.fields import Record, RecordType
from thisthat_lab.suites.records.rules import RecordRule, draw_rule, say_rule
from thisthat_lab.suites.records.sheets import write_records
from thisthat_lab.tables import Tables


@dataclass(frozen=True)
class Case:
    """Records of one kind and a rule; ``failing`` counts those that do not satisfy it."""

    kind: RecordType
    rows: tuple[tuple[str, Record], ...]
    shown: tuple[str, ...]
    rule: RecordRule
    failing: bool
    setting: Setting


def draw(rng: Rng, setting: Setting) -> Case | None:
    """Two to six records; every count is equally likely."""
    kind = rng.choice(record_types())
    size = rng.integer(2, min(6, 2 + setting.clauses))
    target = rng.integer(0, size)
    first = kind.draw(rng)
    clauses = 1 if rng.chance(0.6) else 2
    rule = draw_rule(rng, kind, first, rng.chance(0.5), clauses, ("all", "any"))
    failing = rng.chance(0.3)
    wanted = rng.shuffled([True] * target + [False] * (size - target))
    rows: list[Record] = []
    for want in wanted:
        record = _draw_for(rng, kind, rule, want != failing)
        if record is None:
            return None
        rows.append(record)
    spare = [field.phrase for field in kind.fields if field.phrase not in rule.phrases]
    shown = [*rule.phrases, *rng.sample(spare, min(len(spare), max(1, setting.distractors // 2)))]
    names = draw_names(rng, kind, size)
    return Case(
        kind,
        tuple(zip(names, rows, strict=True)),
        tuple(rng.shuffled(shown)),
        rule,
        failing,
        setting,
    )


def _draw_for(rng: Rng, kind: RecordType, rule: RecordRule, want: bool) -> Record | None:
    for _ in range(60):
        record = kind.draw(rng)
        if rule.holds(record) is want:
            return record
    return None


def solve(case: Case) -> int:
    """The number of records that satisfy the rule (or do not, if that is asked)."""
    return sum(case.rule.holds(record) is not case.failing for _, record in case.rows)


def twin(case: Case, rng: Rng) -> Case | None:
    """The same records, counted from the other side or under another rule."""
    _, record = rng.choice(case.rows)
    fields = tuple(field for field in case.kind.fields if field.phrase in case.shown)
    kind = replace(case.kind, fields=fields)
    rule = draw_rule(rng, kind, record, rng.chance(0.5), len(case.rule.conditions), ("all", "any"))
    return turned(case, (replace(case, rule=rule), replace(case, failing=not case.failing)), solve)


def render(case: Case, rng: Rng) -> Asked:
    """The records as a table, lines, JSON or prose; the rule in the question."""
    sheet = write_records(rng, case.kind, case.rows, case.shown)
    rule = say_rule(rng, case.rule, case.kind.noun)
    forms = FAILING if case.failing else SATISFYING
    question = rng.choice(forms).format(noun=case.kind.noun, rule=rule)
    size = len(case.rows)
    levels = [str(count) for count in range(size + 1)]
    style = rng.below(3)
    if style == 1:
        levels = ["none", *(f"exactly {count}" for count in range(1, size)), f"all {size}"]
    elif style == 2:
        levels = [f"{count} of {size}" for count in range(size + 1)]
    return ask(
        rng,
        [(rng.choice(("list", "records", "entries", f"{case.kind.noun} list")), sheet.content)],
        question,
        numbered_levels(levels),
        deciding=[sheet.pieces[row, phrase] for row in range(size) for phrase in case.rule.phrases],
        setting=case.setting,
        levels=size + 1,
    )


_TABLES = Tables(__file__)
SATISFYING = _TABLES.words("satisfying")
FAILING = _TABLES.words("failing")
FAMILY = branch_family("count_matching", "score", draw, solve, render, twin, abstains=False)
