"""Choice families made of one record and a list of rules, each leading to an outcome.

The lines are read from the top and the first that applies decides; or exactly one applies and
stands in the description of its option. A last line catches the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import BranchFamily, branch_family
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import join
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.suites.records.checks import hide_fact
from thisthat_lab.suites.records.conditions import sentence
from thisthat_lab.suites.records.fields import Record, RecordType
from thisthat_lab.suites.records.rules import RecordRule, capital, draw_rule, twin_rule
from thisthat_lab.suites.records.sheets import write_records


@dataclass(frozen=True)
class RouteWording:
    """How a family speaks; texts may use ``{noun}`` and ``{name}``.

    ``outcomes`` are pools of names that belong together; ``lines`` say what leads to what, with
    ``{rule}`` and ``{outcome}``; ``rest`` says what happens otherwise.
    """

    questions: tuple[str, ...]
    outcomes: tuple[tuple[str, ...], ...]
    leads: tuple[str, ...] = (
        "The first line that applies decides.",
        "Read from the top; stop at the first line that applies.",
        "Lines are tried in order.",
    )
    lines: tuple[str, ...] = (
        "if {rule}: {outcome}",
        "{outcome} if {rule}",
        "{rule} -> {outcome}",
        "when {rule}, choose {outcome}",
    )
    rest: tuple[str, ...] = ("otherwise: {outcome}", "in all other cases: {outcome}")
    headings: tuple[str, ...] = ("rules", "policy", "decision list", "procedure")
    things: tuple[str, ...] = ("record", "case", "entry", "details")


@dataclass(frozen=True)
class RouteCase:
    """A record and the lines that route it: ``rules[i]`` leads to ``outcomes[i]``, the last
    outcome stands when none applies."""

    kind: RecordType
    name: str
    record: Record
    shown: tuple[str, ...]
    rules: tuple[RecordRule, ...]
    outcomes: tuple[str, ...]
    place: str
    setting: Setting


def outcome_of(rules: Sequence[RecordRule], record: Record) -> int | None:
    """The index of the first rule that holds, their number if none does; None when it is open."""
    marks = [rule.holds(record) for rule in rules]
    choices = product(*((True, False) if mark is None else (mark,) for mark in marks))
    possible = {filled.index(True) if True in filled else len(filled) for filled in choices}
    return possible.pop() if len(possible) == 1 else None


def solve_route(case: RouteCase) -> int:
    """The index of the outcome, or the index after the last when the record leaves it open."""
    outcome = outcome_of(case.rules, case.record)
    return len(case.outcomes) if outcome is None else outcome


def draw_route(
    rng: Rng, setting: Setting, types: Sequence[RecordType], wording: RouteWording
) -> RouteCase | None:
    """A case whose outcome is drawn evenly, or open (where that is offered)."""
    kind = rng.choice(types)
    pool = rng.choice(wording.outcomes)
    count = min(len(pool), rng.integer(3, max(3, min(7, setting.clauses + 3))))
    outcomes = tuple(rng.sample(pool, count))
    target = rng.below(count)
    record = kind.draw(rng)
    place = rng.weighted(("state", "question", "options"), (5, 3, 0 if setting.abstain else 2))
    rules = []
    for index in range(count - 1):
        if index < target or (place == "options" and index != target):
            want = False
        else:
            want = index == target or rng.chance(0.5)
        clauses = rng.integer(1, max(1, min(3, setting.clauses)))
        rules.append(draw_rule(rng, kind, record, want, clauses, ("all", "any")))
    used = list(dict.fromkeys(phrase for rule in rules for phrase in rule.phrases))
    spare = [field.phrase for field in kind.fields if field.phrase not in used]
    shown = [*used, *rng.sample(spare, min(setting.distractors, len(spare)))]
    name, shown = kind.draw_name(rng), rng.shuffled(shown)
    if setting.abstain:
        open_end = rng.chance(1 / (count + 1))
        record = hide_fact(rng, partial(outcome_of, rules), record, shown, open_end)
    return RouteCase(kind, name, record, tuple(shown), tuple(rules), outcomes, place, setting)


def twin_route(case: RouteCase, rng: Rng) -> RouteCase | None:
    """The same state with one line changed so that another outcome follows."""
    answer = solve_route(case)
    if answer == len(case.outcomes) or any(case.record.get(key) is None for key in case.shown):
        return None
    for index in rng.shuffled(range(len(case.rules))):
        rules = list(case.rules)
        rules[index] = twin_rule(rng, rules[index], case.record)
        twin = replace(case, rules=tuple(rules), place="state")
        if solve_route(twin) != answer:
            return twin
    return None


def render_route(case: RouteCase, rng: Rng, wording: RouteWording) -> Asked:
    """The case as state, question and options."""
    sheet = write_records(rng, case.kind, [(case.name, case.record)], case.shown)
    noun = case.kind.noun
    asked = rng.choice(wording.questions).format(noun=noun, name=case.name)
    sections: list[tuple[str, Any]] = [(rng.choice(wording.things), sheet.content)]
    clauses = [_say(rng, rule, noun) for rule in case.rules]
    policy = ""
    options: tuple[tuple[str, str | None], ...]
    if case.place == "options":
        rest = rng.choice(("None of the others applies.", "Everything else."))
        texts = [f"{capital(clause)}." for clause in clauses]
        options = tuple(zip(case.outcomes, [*texts, rest], strict=True))
    else:
        options = tuple((name, None) for name in case.outcomes)
        policy = _say_lines(rng, case, clauses, wording)
        if case.place == "state":
            sections.append((rng.choice(wording.headings), policy))
        else:
            asked = f"{asked}\n{policy}" if rng.chance(0.5) else f"{policy}\n{asked}"
    phrases = dict.fromkeys(
        phrase for rule in case.rules[: solve_route(case) + 1] for phrase in rule.phrases
    )
    pieces = [sheet.pieces[0, phrase] for phrase in phrases if (0, phrase) in sheet.pieces]
    return ask(
        rng,
        sections,
        asked,
        options,
        deciding=pieces,
        rule=[policy] if case.place == "state" else (),
        setting=case.setting,
        place=case.place,
        clauses=len(case.rules),
    )


def _say(rng: Rng, rule: RecordRule, noun: str) -> str:
    parts = [sentence(rng, condition, noun) for condition in rule.conditions]
    return join(parts, "and" if rule.mode == "all" else "or")


def _say_lines(rng: Rng, case: RouteCase, clauses: Sequence[str], wording: RouteWording) -> str:
    form = rng.choice(wording.lines)
    lines = [
        capital(form.format(rule=clause, outcome=outcome))
        for clause, outcome in zip(clauses, case.outcomes, strict=False)
    ]
    lines.append(capital(rng.choice(wording.rest).format(outcome=case.outcomes[-1])))
    if rng.chance(0.5):
        lines = [f"{index + 1}. {line}" for index, line in enumerate(lines)]
    return "\n".join([rng.choice(wording.leads), *(f"{line}." for line in lines)])


def route_family(
    name: str, types: Sequence[RecordType], wording: RouteWording, *, held_out: bool = False
) -> BranchFamily[RouteCase]:
    """A choice family over these record types."""
    return branch_family(
        name,
        "choice",
        lambda rng, setting: draw_route(rng, setting, types, wording),
        solve_route,
        lambda case, rng: render_route(case, rng, wording),
        twin_route,
        held_out=held_out,
    )
