"""Choice and score families over ordered branches: one record, several rules, first one counts.

The rules stand in the state or in the option descriptions. For a score the branches run from
the highest level down and options are the levels in order. A family adds records and words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thisthat.questions import Kind
from thisthat.rng import Rng
from thisthat_lab.suites.base.abstain import with_abstain
from thisthat_lab.suites.base.branch_family import BranchFamily, branch_family
from thisthat_lab.suites.base.clauses import Clause
from thisthat_lab.suites.base.family import Asked
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.base.layout import MakePage, Sheet, lay_out
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.base.wording import bullets, sentence
from thisthat_lab.suites.branch.machinery import branches as taking
from thisthat_lab.suites.branch.machinery.branches import Branches
from thisthat_lab.tables import Tables

DrawBranches = Callable[[Domain, int, int, Rng], Branches]
_TABLES = Tables(__file__)
_COUNTS, _INTROS = _TABLES.words("counts"), _TABLES.words("intros")
_LINES, _LAST_LINES = _TABLES.words("lines"), _TABLES.words("last_lines")
_ORDERS = _TABLES.groups("orders")


@dataclass(frozen=True)
class OutcomeWords:
    """How a family speaks: its questions and the names its outcomes can have.

    ``names`` are scales for a score (each a tuple from the lowest level up, of the length of
    the score) and pools for a choice. ``thing`` is what is chosen: "verdict", "severity".
    """

    thing: str
    asks: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    headings: tuple[str, ...]


@dataclass(frozen=True)
class OutcomeCase:
    """Branches, a name for each outcome in the order they are tried, and the record.

    ``look`` names the random stream of the wording, so that twins share theirs.
    """

    sheet: Sheet
    branches: Branches
    names: tuple[str, ...]
    in_options: bool
    setting: Setting
    look: int


def outcome_family(
    name: str,
    kind: Kind,
    domains: Sequence[Domain],
    words: OutcomeWords,
    counts: tuple[int, int],
    held_out: bool = False,
    draw_rules: DrawBranches = taking.draw_branches,
    page: MakePage = lay_out,
    abstains: bool = True,
) -> BranchFamily[OutcomeCase]:
    """A choice or score family with from ``counts[0]`` to ``counts[1]`` outcomes.

    ``draw_rules`` makes the branches, ``page`` the state.
    """

    def draw(rng: Rng, setting: Setting) -> OutcomeCase | None:
        count = rng.integer(*counts)
        domain = rng.choice(domains)
        branches = draw_rules(domain, count, min(setting.clauses, 3), rng)
        pools = [pool for pool in words.names if len(pool) >= count]
        if kind == "score":
            pool = rng.choice([pool for pool in pools if len(pool) == count])
            names = tuple(reversed(pool))
        else:
            names = tuple(rng.sample(rng.choice(pools), count))
        sheet = taking.draw_sheet_taking(domain, branches, setting, rng, may_omit=True)
        if sheet is None:
            return None
        return OutcomeCase(sheet, branches, names, rng.chance(0.4), setting, rng.raw())

    def solve(case: OutcomeCase) -> int:
        taken = case.branches.outcome(case.sheet.record)
        count = case.branches.count
        if taken is None:
            return count
        return count - 1 - taken if kind == "score" else taken

    return branch_family(
        name,
        kind,
        draw,
        solve,
        lambda case, _: _render(case, words, kind, page),
        _twin,
        option_count=counts[0] if counts[0] == counts[1] else None,
        held_out=held_out,
        abstains=abstains,
        clauses=_clauses if page is lay_out else None,
    )


def _clauses(case: OutcomeCase) -> list[Clause]:
    return [clause for rule in case.branches.rules for clause in rule.clauses]


def _twin(case: OutcomeCase, rng: Rng) -> OutcomeCase | None:
    changed = taking.twin_of(case.branches, case.sheet.record, rng)
    if changed is None:
        return None
    if isinstance(changed, Branches):
        return replace(case, branches=changed)
    return replace(case, sheet=replace(case.sheet, record=changed))


def _render(case: OutcomeCase, words: OutcomeWords, kind: Kind, make_page: MakePage) -> Asked:
    rng = Rng(case.look, "words")
    names = case.names
    said, count_note = _conditions(case)
    question = rng.choice(words.asks).format(noun=case.sheet.domain.noun, id=case.sheet.name)
    policy: list[tuple[str, str, Any]] = []
    described: Mapping[str, str | None] = dict.fromkeys(names)
    if case.in_options:
        note = count_note or _order_note(words, names, kind, rng)
        question = f"{question} {note}"
        remains = rng.choice(("none of the other conditions holds", "anything else", "otherwise"))
        described = dict(
            zip(
                names,
                [*(f"{rng.choice(('if', 'when'))} {one}" for one in said), remains],
                strict=True,
            )
        )
    else:
        heading = rng.choice(words.headings)
        text, plain = _policy(case, said, words, rng)
        policy = [(heading, f"{count_note}\n{text}" if count_note else text, plain)]
    page = make_page(case.sheet, policy, case.setting, Rng(case.look, "layout"))
    options = (
        _levels(names, described)
        if kind == "score"
        else [(name, described[name]) for name in names]
    )
    facts: dict[str, object] = {
        "deciding": page.deciding(case.branches.deciding(case.sheet.record)),
        "rule": page.rule(policy),
        "clauses": len(case.branches.keys()),
        "place": "options" if case.in_options else "state",
    }
    return Asked(page.state, question, *with_abstain(rng, options, facts, case.setting.abstain))


def _conditions(case: OutcomeCase) -> tuple[list[str], str]:
    """What each branch asks for, and, where all count the same conditions, those conditions."""
    rules = case.branches.rules
    counted = case.branches.points
    if counted is None:
        said = [rule.say(Rng(case.look, "rule", number)) for number, rule in enumerate(rules)]
        return said, ""
    rng = Rng(case.look, "rule")
    conditions = [clause.say(rng) for clause in counted]
    intro = rng.choice(_COUNTS)
    listed = rng.choice(
        (f"{intro}: {'; '.join(conditions)}.", f"{intro}:\n{bullets(conditions, rng)}")
    )
    unit = rng.choice(("of them true", "met", "fulfilled"))
    return [f"exactly {rule.needed} {unit}" for rule in rules], listed


def _levels(
    names: Sequence[str], described: Mapping[str, str | None]
) -> list[tuple[str, str | None]]:
    levels: list[tuple[str, str | None]] = []
    for index, name in enumerate(reversed(names)):
        condition = described[name]
        levels.append((str(index), f"{name}: {condition}" if condition else name))
    return levels


def _order_note(words: OutcomeWords, names: Sequence[str], kind: Kind, rng: Rng) -> str:
    return rng.choice(_ORDERS[kind]).format(thing=words.thing, listed=", ".join(names[:-1]))


def _policy(
    case: OutcomeCase, said: Sequence[str], words: OutcomeWords, rng: Rng
) -> tuple[str, Any]:
    *named, last = case.names
    form, thing = rng.choice(_LINES), words.thing
    lines = [
        form.format(name=name, one=one, thing=thing) for name, one in zip(named, said, strict=True)
    ]
    lines.append(rng.choice(_LAST_LINES).format(name=last, thing=thing))
    intro = rng.choice(_INTROS).format(thing=thing)
    return f"{intro}\n{bullets([sentence(line)[:-1] for line in lines], rng)}", _plain(case, words)


def _plain(case: OutcomeCase, words: OutcomeWords) -> dict[str, Any]:
    names, rules = case.names, case.branches.rules
    counted = case.branches.points
    if counted is not None:
        return {
            "count": [clause.plain() for clause in counted],
            words.thing: {str(len(rules) - place): name for place, name in enumerate(names)},
        }
    return {
        "first_match": [
            {words.thing: name, "when": rule.plain()}
            for name, rule in zip(names, rules, strict=False)
        ],
        "default": names[-1],
    }
