"""Ticket routing: three to thirty queues, each described by what it takes; exactly one fits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.abstain import with_abstain
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.clauses import Among, Between, Clause, Compares, Is
from thisthat_lab.suites.base.domains import domains
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.fields import Domain, Field, Flag, Number, Pick
from thisthat_lab.suites.base.layout import Sheet, draw_sheet, lay_out
from thisthat_lab.suites.base.rules import Rule
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import CITIES, TEAMS, bullets
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_DOMAINS = domains(*_TABLES.words("domains"))
_ASKS = _TABLES.words("asks")


@dataclass(frozen=True)
class RoutingCase:
    """Queues whose rules exclude each other, and the record to be routed."""

    sheet: Sheet
    rules: tuple[Rule, ...]
    names: tuple[str, ...]
    in_state: bool
    setting: Setting
    look: int


def draw(rng: Rng, setting: Setting) -> RoutingCase | None:
    """Queues for every combination of one or two facts, named without regard to them."""
    domain = rng.choice(_DOMAINS)
    rules = _draw_rules(domain, setting.clauses, rng)
    wanted = rng.below(len(rules))
    record = {field.key: field.draw(rng) for field in domain.fields}
    for clause in rules[wanted].clauses:
        record[clause.field.key] = clause.value(True, rng)
    needed = [clause.field.key for clause in rules[0].clauses]
    if setting.abstain:
        idle = [field.key for field in domain.fields if field.key not in needed]
        is_open = rng.chance(1 / (len(rules) + 1))
        record[rng.choice(needed if is_open else idle)] = None
    names = _queue_names(len(rules), rng)
    sheet = draw_sheet(domain, record, needed, setting.distractors, rng)
    return RoutingCase(sheet, rules, names, rng.chance(0.5), setting, rng.raw())


def _draw_rules(domain: Domain, clauses: int, rng: Rng) -> tuple[Rule, ...]:
    picks = [f for f in domain.fields if isinstance(f, Pick)]
    first = rng.choice(picks)
    cells: list[tuple[Clause, ...]] = [(clause,) for clause in _parts(first, rng)]
    if clauses > 1:
        usable = [f for f in domain.fields if f.key != first.key and _can_split(f)]
        second = rng.choice(usable)
        cells = [(*cell, clause) for cell in cells for clause in _parts(second, rng)]
    return tuple(Rule("all", cell) for cell in cells)


def _can_split(field: Field) -> bool:
    if isinstance(field, Number):
        return field.decimals == 0 and field.high - field.low >= 20
    return isinstance(field, (Pick, Flag))


def _parts(field: Field, rng: Rng) -> list[Clause]:
    """Clauses on the field of which exactly one holds for any value."""
    if isinstance(field, Flag):
        return [Is(field, True), Is(field, False)]
    if isinstance(field, Pick):
        values = rng.shuffled(field.values)
        parts = rng.integer(3, len(values)) if len(values) > 3 else len(values)
        groups: list[list[str]] = [[value] for value in values[:parts]]
        for value in values[parts:]:
            rng.choice(groups).append(value)
        return [Among(field, tuple(group), True) for group in groups]
    assert isinstance(field, Number)
    step = (field.high - field.low) / 6
    cuts = sorted(
        rng.sample([field.tidy(field.low + step * n) for n in range(1, 6)], rng.integer(1, 4))
    )
    middle = [Between(field, low, high - 1, True) for low, high in pairwise(cuts)]
    return [Compares(field, "<", cuts[0]), *middle, Compares(field, ">=", cuts[-1])]


def _queue_names(count: int, rng: Rng) -> tuple[str, ...]:
    style = rng.below(3)
    if style == 0 and count <= len(TEAMS):
        return tuple(rng.sample(TEAMS, count))
    if style == 1 and count <= len(CITIES):
        return tuple(f"{city} desk" for city in rng.sample(CITIES, count))
    return tuple(f"queue-{number}" for number in rng.sample(range(1, 99), count))


def solve(case: RoutingCase) -> int:
    """The queue whose rule holds; their number when a needed fact is missing."""
    for index, rule in enumerate(case.rules):
        if rule.truth(case.sheet.record):
            return index
    return len(case.rules)


def render(case: RoutingCase, rng: Rng) -> Asked:
    """The case written down."""
    rng = Rng(case.look, "words")
    sheet = case.sheet
    said = [rule.say(Rng(case.look, "rule", number)) for number, rule in enumerate(case.rules)]
    question = rng.choice(_ASKS).format(noun=sheet.domain.noun, id=sheet.name)
    policy: list[tuple[str, str, Any]] = []
    options: list[tuple[str, str | None]] = [(name, None) for name in case.names]
    if case.in_state:
        order = rng.shuffled(range(len(said)))
        joiner = rng.choice((": ", " takes it when ", " <- "))
        text = bullets([f"{case.names[place]}{joiner}{said[place]}" for place in order], rng)
        plain = {case.names[place]: case.rules[place].plain() for place in order}
        policy = [(rng.choice(("Routing table", "Queues", "Who does what")), text, plain)]
    else:
        lead = rng.choice(("", "when ", "takes what fits: "))
        options = [(name, lead + text) for name, text in zip(case.names, said, strict=True)]
    page = lay_out(sheet, policy, case.setting, Rng(case.look, "layout"))
    needed = [clause.field.key for clause in case.rules[0].clauses]
    facts: dict[str, object] = {
        "deciding": page.deciding(needed),
        "rule": page.rule(policy),
        "clauses": len(needed),
        "place": "state" if case.in_state else "options",
    }
    return Asked(page.state, question, *with_abstain(rng, options, facts, case.setting.abstain))


def twin(case: RoutingCase, rng: Rng) -> RoutingCase | None:
    """The same table with one fact moved so that another queue fits."""
    answer = solve(case)
    if answer == len(case.rules):
        return None
    clause = rng.choice(case.rules[answer].clauses)
    value = clause.value(False, rng)
    moved = replace(case.sheet, record={**case.sheet.record, clause.field.key: value})
    return replace(case, sheet=moved)


FAMILY = branch_family("routing", "choice", draw, solve, render, twin)
