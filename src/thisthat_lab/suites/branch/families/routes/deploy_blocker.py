"""Deploy blocker: which stated requirement stops a release, if any does?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.abstain import with_abstain
from thisthat_lab.suites.base.branch_family import branch_family
from thisthat_lab.suites.base.clauses import draw_clause
from thisthat_lab.suites.base.domains import domains
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.layout import Sheet, lay_out
from thisthat_lab.suites.base.rules import Rule
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import bullets
from thisthat_lab.suites.branch.machinery.branches import Branches, draw_sheet_taking, twin_of
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_DOMAINS = domains(*_TABLES.words("domains"))
_ASKS = _TABLES.words("asks")
_NOTHING = ("nothing", "no blocker", "all clear", "none fails")


@dataclass(frozen=True)
class BlockerCase:
    """Requirements in order, kept as branches on their failing; the last outcome is none."""

    sheet: Sheet
    failing: Branches
    in_state: bool
    setting: Setting
    look: int


def draw(rng: Rng, setting: Setting) -> BlockerCase | None:
    """A case in which each requirement, or none, is the first to fail equally often."""
    domain = rng.choice(_DOMAINS)
    count = max(2, min(setting.clauses + 1, 5))
    fields = rng.sample(domain.fields, count)
    failing = Branches(tuple(Rule("all", (draw_clause(field, rng),)) for field in fields))
    sheet = draw_sheet_taking(domain, failing, setting, rng, may_omit=False)
    if sheet is None:
        return None
    return BlockerCase(sheet, failing, rng.chance(0.6), setting, rng.raw())


def solve(case: BlockerCase) -> int:
    """The first requirement that fails; their number when none does; one more when open."""
    outcome = case.failing.outcome(case.sheet.record)
    return case.failing.count if outcome is None else outcome


def render(case: BlockerCase, rng: Rng) -> Asked:
    """The case written down."""
    rng = Rng(case.look, "words")
    sheet = case.sheet
    clauses = [rule.clauses[0] for rule in case.failing.rules]
    required = [
        clause.denied().say(Rng(case.look, "rule", number)) for number, clause in enumerate(clauses)
    ]
    question = rng.choice(_ASKS).format(noun=sheet.domain.noun, id=sheet.name)
    note = "If several fail, name the first in the order of the list."
    policy: list[tuple[str, str, Any]] = []
    if case.in_state:
        intro = rng.choice(("All of these must hold:", "Required:", "Checks, in this order:"))
        plain = [clause.denied().plain() for clause in clauses]
        policy = [("Requirements", f"{intro}\n{bullets(required, rng)}", plain)]
        question = f"{question} {note}"
    else:
        question = f"Required, in this order: {'; '.join(required)}.\n{question} {note}"
    named = [clause.field.key.replace("_", " ") for clause in clauses]
    options: list[tuple[str, str | None]] = [(name, None) for name in named]
    if rng.chance(0.3):
        options = [(name, f"required: {text}") for name, text in zip(named, required, strict=True)]
    options.append((rng.choice(_NOTHING), rng.choice((None, "every requirement is met"))))
    page = lay_out(sheet, policy, case.setting, Rng(case.look, "layout"))
    facts: dict[str, object] = {
        "deciding": page.deciding(case.failing.deciding(sheet.record)),
        "rule": page.rule(policy),
        "clauses": len(clauses),
        "place": "state" if case.in_state else "question",
    }
    return Asked(page.state, question, *with_abstain(rng, options, facts, case.setting.abstain))


def twin(case: BlockerCase, rng: Rng) -> BlockerCase | None:
    """Another blocker from a changed requirement or a changed fact."""
    changed = twin_of(case.failing, case.sheet.record, rng)
    if changed is None:
        return None
    if isinstance(changed, Branches):
        return replace(case, failing=changed)
    return replace(case, sheet=replace(case.sheet, record=changed))


FAMILY = branch_family("deploy_blocker", "choice", draw, solve, render, twin)
