"""Boolean: is what the question says about a record so? One to three stated facts, any trade.

Every question is met by its near misses: a bound just beyond the value, a denial, the same
sentence about a neighbouring record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import BranchFamily, branch_family
from thisthat_lab.suites.base.family import YES_NO, Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import DENIALS, STATEMENTS, join
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.suites.records.catalogue import record_types
from thisthat_lab.suites.records.checks import (
    CheckCase,
    deciding_pieces,
    draw_check,
    solve_check,
    twin_check,
)
from thisthat_lab.suites.records.conditions import question, sentence
from thisthat_lab.suites.records.rules import RecordRule, capital
from thisthat_lab.suites.records.sheets import write_records


@dataclass(frozen=True)
class FactsCase(CheckCase):
    """A check whose rule is spoken as a plain question or statement."""

    form: str


FORMS = ("question", "statement", "criterion", "claim")


def draw(rng: Rng, setting: Setting) -> FactsCase | None:
    """One to three facts about a record of any trade."""
    easier = replace(setting, clauses=min(setting.clauses, 3))
    case = draw_check(rng, easier, record_types(), ("all", "any", "none", "unless"))
    if case is None:
        return None
    form = rng.choice(FORMS)
    denied = case.denied and form != "question"
    return FactsCase(**{**vars(case), "form": form, "denied": denied})


def render(case: FactsCase, rng: Rng) -> Asked:
    """The record, then the question about it."""
    rows = [(case.name, case.record), *case.others]
    order = rng.shuffled(range(len(rows)))
    sheet = write_records(rng, case.kind, [rows[index] for index in order], case.shown)
    noun = case.kind.noun
    where = f"{noun} {case.name}"
    asked, options = _ask(rng, case, where)
    sections: list[tuple[str, Any]] = [
        (rng.choice((noun, "record", "entry", "data")), sheet.content)
    ]
    return ask(
        rng,
        sections,
        asked,
        options,
        deciding=deciding_pieces(case, sheet.pieces, order.index(0)),
        setting=case.setting,
        form=case.form,
        mode=case.rule.mode,
    )


def _ask(rng: Rng, case: FactsCase, where: str) -> tuple[str, tuple[tuple[str, str | None], ...]]:
    noun = case.kind.noun
    about = bool(case.others) or rng.chance(0.3)
    plain = case.rule.mode in ("all", "any") or len(case.rule.conditions) == 1
    if case.form == "question" and plain:
        return _direct(rng, case.rule, noun, where if about else ""), YES_NO
    text = say_facts(rng, case.rule, noun)
    if about:
        text = rng.choice((f"for {where}, {text}", f"in the case of {where}, {text}"))
    if case.form == "criterion" and not case.denied and rng.chance(0.5):
        met, unmet = capital(text) + ".", rng.choice((None, "That is not what the record says."))
        lead = rng.choice(
            ("Does the record meet the criterion?", "Which answer fits?", "Is it so?", "Decide.")
        )
        return lead, (("no", unmet), ("yes", met))
    if case.denied:
        return rng.choice(DENIALS).format(text=text, capital=capital(text)), YES_NO
    return rng.choice(STATEMENTS[case.form]).format(text=text, capital=capital(text)), YES_NO


def _direct(rng: Rng, rule: RecordRule, noun: str, where: str) -> str:
    parts = [question(rng, condition, noun) for condition in rule.conditions]
    if rule.mode == "none":
        about = f"for {where}, " if where else ""
        return f"Is it not the case that {about}{sentence(rng, rule.conditions[0], noun)}?"
    text = join(parts, "and" if rule.mode == "all" else "or")
    text = f"{where}: {text}?" if where else f"{text}?"
    return capital(text)


def say_facts(rng: Rng, rule: RecordRule, noun: str) -> str:
    """The rule as one clause that can follow "that"."""
    parts = [sentence(rng, condition, noun) for condition in rule.conditions]
    if rule.mode == "unless":
        return f"{join(parts[:-1], 'and')}, and it is not the case that {parts[-1]}"
    if rule.mode == "none":
        if len(parts) == 1:
            return f"it is not the case that {parts[0]}"
        return f"none of these is so: {'; '.join(parts)}"
    if rule.mode == "any":
        return rng.choice((join(parts, "or"), f"at least one of these is so: {'; '.join(parts)}"))
    return join(parts, "and")


FAMILY: BranchFamily[FactsCase] = branch_family(
    "facts_hold",
    "boolean",
    draw,
    solve_check,
    render,
    twin_check,  # type: ignore[arg-type]
)
