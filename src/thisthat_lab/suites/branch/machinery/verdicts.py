"""Yes-or-no families: one record, one rule, and a question whether the outcome follows.

The rule stands in the state, in the question or in what yes and no are said to mean; the
question asks for the outcome or for its opposite. A family adds records and words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from thisthat.rng import Rng
from thisthat_lab.suites.base.abstain import with_abstain
from thisthat_lab.suites.base.branch_family import BranchFamily, branch_family, turned
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.fields import Domain, Value
from thisthat_lab.suites.base.layout import MakePage, Sheet, draw_sheet, lay_out
from thisthat_lab.suites.base.rules import Rule, draw_record_for, draw_rule
from thisthat_lab.suites.base.settings import MOST_CLAUSES, Setting
from thisthat_lab.suites.base.wording import sentence

Place: TypeAlias = Literal["state", "question", "options"]
CANNOT_TELL = 2


@dataclass(frozen=True)
class Words:
    """How a family speaks of its outcome; ``{noun}`` and ``{id}`` stand for the record."""

    outcome: str
    opposite: str
    asks: tuple[str, ...]
    opposite_asks: tuple[str, ...]
    heading: tuple[str, ...] = ("Policy", "Rules", "Guideline", "Procedure")


@dataclass(frozen=True)
class VerdictCase:
    """A rule, the sheet it is applied to, and how the question is put.

    ``look`` names the random stream of the wording, so that twins share theirs.
    """

    sheet: Sheet
    rule: Rule
    asks_opposite: bool
    place: Place
    setting: Setting
    look: int


def verdict_family(
    name: str,
    domains: Sequence[Domain],
    words: Words,
    held_out: bool = False,
    page: MakePage = lay_out,
    abstains: bool = True,
) -> BranchFamily[VerdictCase]:
    """A boolean family over records of these domains; ``page`` makes the state."""
    return branch_family(
        name,
        "boolean",
        lambda rng, setting: draw_verdict(domains, rng, setting),
        solve_verdict,
        lambda case, _: render_verdict(case, words, page),
        twin_verdict,
        held_out=held_out,
        abstains=abstains,
        clauses=(lambda case: case.rule.clauses) if page is lay_out else None,
    )


def draw_verdict(domains: Sequence[Domain], rng: Rng, setting: Setting) -> VerdictCase | None:
    """A case whose answer is yes, no (or cannot tell, where offered) equally often."""
    domain = rng.choice(domains)
    rule = draw_rule(domain.fields, min(setting.clauses, MOST_CLAUSES), rng)
    answer = rng.below(3 if setting.abstain else 2)
    asks_opposite = rng.chance(0.4)
    wanted = rng.chance(0.5) if answer == CANNOT_TELL else (answer == 1) != asks_opposite
    record = draw_record_for(domain, rule, wanted, rng)
    if record is None:
        return None
    known: dict[str, Value] = dict(record)
    needed = [clause.field.key for clause in rule.clauses]
    if setting.abstain:
        dropped = _droppable(domain, rule, record, answer == CANNOT_TELL)
        if not dropped:
            return None
        key = rng.choice(dropped)
        del known[key]
        if rng.chance(0.5):
            needed = [name for name in needed if name != key]
        elif key not in needed:
            needed.append(key)
    sheet = draw_sheet(domain, known, needed, setting.distractors, rng)
    if setting.abstain:
        sheet = replace(sheet, record={key: known.get(key) for key in record})
    place: Place = rng.weighted(("state", "question", "options"), (5, 3, 2))
    return VerdictCase(sheet, rule, asks_opposite, place, setting, rng.raw())


def _droppable(domain: Domain, rule: Rule, record: dict[str, Value], deciding: bool) -> list[str]:
    """Keys without which the rule is open (``deciding``) or is settled all the same."""
    return [
        field.key
        for field in domain.fields
        if (rule.truth({**record, field.key: None}) is None) == deciding
    ]


def solve_verdict(case: VerdictCase) -> int:
    """0 for no, 1 for yes, 2 for cannot tell."""
    truth = case.rule.truth(case.sheet.record)
    if truth is None:
        return CANNOT_TELL
    return int(truth != case.asks_opposite)


def twin_verdict(case: VerdictCase, rng: Rng) -> VerdictCase | None:
    """The other answer from a changed limit in the rule, or from one changed fact."""
    record = case.sheet.record
    turning = [c for c in case.rule.turning(record) if record.get(c.field.key) is not None]
    if not turning or case.rule.truth(record) is None:
        return None
    clause = rng.choice(turning)
    value = record[clause.field.key]
    if rng.chance(0.5):
        shifted = clause.shifted(value, rng)
        if shifted is None:
            return None
        twin = replace(case, rule=case.rule.swapped(clause, shifted))
    else:
        moved = clause.value(not clause.holds(value), rng)
        twin = replace(case, sheet=replace(case.sheet, record={**record, clause.field.key: moved}))
    return turned(case, [twin], solve_verdict)


def render_verdict(case: VerdictCase, words: Words, make_page: MakePage) -> Asked:
    """The case written down."""
    sheet = case.sheet
    rng = Rng(case.look, "words")
    names = {"noun": sheet.domain.noun, "id": sheet.name}
    outcome, opposite = words.outcome.format(**names), words.opposite.format(**names)
    decree = case.rule.decree(outcome, opposite, Rng(case.look, "rule"))
    asks = words.opposite_asks if case.asks_opposite else words.asks
    question = rng.choice(asks).format(**names)
    heading = rng.choice(words.heading)
    policy = []
    no: str | None = None
    yes: str | None = None
    if case.place == "state":
        plain = {"outcome": outcome, "when": case.rule.plain(), "otherwise": opposite}
        policy = [(heading, decree, plain)]
    elif case.place == "question":
        question = rng.choice(
            (f"{decree}\n\n{question}", f"{heading}: {decree}\n{question}", f"{question}\n{decree}")
        )
    else:
        no, yes = _meanings(case, Rng(case.look, "rule"))
    options: list[tuple[str, str | None]] = [("no", no), ("yes", yes)]
    page = make_page(sheet, policy, case.setting, Rng(case.look, "layout"))
    deciding = case.rule.deciding(sheet.record)
    facts: dict[str, object] = {
        "deciding": page.deciding([clause.field.key for clause in deciding]),
        "rule": page.rule(policy),
        "clauses": len(case.rule.clauses),
        "form": case.rule.form,
        "place": case.place,
    }
    return Asked(page.state, question, *with_abstain(rng, options, facts, case.setting.abstain))


def _meanings(case: VerdictCase, rng: Rng) -> tuple[str, str]:
    """What no and yes mean, when the rule stands there."""
    condition = case.rule.say(rng)
    holds = rng.choice((f"when {condition}", f"if {condition}", sentence(condition)))
    fails = rng.choice(("otherwise", "in every other case", "when that is not so", "if not"))
    return (holds, fails) if case.asks_opposite else (fails, holds)
