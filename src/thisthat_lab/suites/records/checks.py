"""Boolean families made of one record and one rule: does the record satisfy the rule?

The rule stands in the state, in the question or in the descriptions of the answers; the
question asks for the rule or for its failure. Families differ in records and wording.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import BranchFamily, branch_family, turned
from thisthat_lab.suites.base.family import YES_NO, Asked
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.records import rules
from thisthat_lab.suites.records.asking import ask
from thisthat_lab.suites.records.fields import Record, RecordType
from thisthat_lab.suites.records.rules import MODES, RecordRule
from thisthat_lab.suites.records.sheets import write_records


@dataclass(frozen=True)
class Wording:
    """How a family speaks. Texts may use ``{noun}`` and ``{name}``.

    ``passes`` ask whether the rule is satisfied, ``fails`` whether it is not; ``leads`` open
    the rule; ``headings`` name its section in the state, ``things`` that of the record.
    """

    passes: tuple[str, ...]
    fails: tuple[str, ...]
    leads: tuple[str, ...]
    headings: tuple[str, ...]
    things: tuple[str, ...] = ("record", "case", "entry", "details")


@dataclass(frozen=True)
class CheckCase:
    """A record, the rule it is held against, and how the question is put."""

    kind: RecordType
    name: str
    record: Record
    shown: tuple[str, ...]
    others: tuple[tuple[str, Record], ...]
    rule: RecordRule
    denied: bool
    place: str
    setting: Setting


def solve_check(case: CheckCase) -> int:
    """0 for no, 1 for yes, 2 for what the record leaves open."""
    holds = case.rule.holds(case.record)
    return 2 if holds is None else int(holds != case.denied)


def draw_check(
    rng: Rng, setting: Setting, types: Sequence[RecordType], modes: Sequence[str] = MODES
) -> CheckCase | None:
    """A case whose answer is yes, no or (where offered) open, equally often."""
    kind = rng.choice(types)
    record = kind.draw(rng)
    denied = rng.chance(0.4)
    rule = rules.draw_rule(rng, kind, record, rng.chance(0.5), setting.clauses, modes)
    spare = [field.phrase for field in kind.fields if field.phrase not in rule.phrases]
    shown = [*rule.phrases, *rng.sample(spare, min(setting.distractors, len(spare)))]
    facts: dict[str, Any] = dict(record)
    if setting.abstain:
        facts = hide_fact(rng, rule.holds, record, shown, rng.chance(1 / 3))
    names = draw_names(rng, kind, 1 + min(4, max(0, setting.distractors - 3) // 2))
    return CheckCase(
        kind,
        names[0],
        facts,
        tuple(phrase for phrase in rng.shuffled(shown)),
        tuple((name, kind.draw(rng)) for name in names[1:]),
        rule,
        denied,
        rng.weighted(("state", "question", "options"), (5, 3, 2)),
        setting,
    )


def draw_names(rng: Rng, kind: RecordType, count: int) -> list[str]:
    """Different ids for records of one kind."""
    names: dict[str, None] = {}
    while len(names) < count:
        names[kind.draw_name(rng)] = None
    return list(names)


def hide_fact(
    rng: Rng,
    answer_of: Callable[[Record], bool | int | None],
    record: Record,
    shown: Sequence[str],
    deciding: bool,
) -> dict[str, Any]:
    """The record with one shown fact unknown: one that leaves the answer open, or one that does
    not. Either nulled or left out altogether, so that the gap itself says nothing."""
    gone = rng.chance(0.5)
    answer = answer_of(record)
    for phrase in rng.shuffled(shown):
        facts: dict[str, Any] = {**record, phrase: None}
        if answer_of(facts) == (None if deciding else answer):
            if gone:
                del facts[phrase]
            return facts
    return dict(record)


def twin_check(case: CheckCase, rng: Rng) -> CheckCase | None:
    """The same state under a changed rule, or the same rule with one fact moved."""
    if case.rule.holds(case.record) is None:
        return None
    if any(case.record.get(phrase) is None for phrase in case.rule.phrases):
        return None
    if rng.chance(0.5):
        twin = replace(case, rule=rules.twin_rule(rng, case.rule, case.record))
    else:
        moved = rules.move_fact(rng, case.rule, case.record)
        if moved is None:
            return None
        twin = replace(case, record=moved)
    return turned(case, [twin], solve_check)


def render_check(case: CheckCase, rng: Rng, wording: Wording) -> Asked:
    """The case as state, question and answers."""
    rows = [(case.name, case.record), *case.others]
    order = rng.shuffled(range(len(rows)))
    sheet = write_records(rng, case.kind, [rows[index] for index in order], case.shown)
    row = order.index(0)
    noun = case.kind.noun
    rule_text = rules.say_rule(rng, case.rule, noun)
    lead = rng.choice(wording.leads).format(noun=noun, name=case.name)
    asked = rng.choice(wording.fails if case.denied else wording.passes)
    asked = asked.format(noun=noun, name=case.name)
    if case.others and case.name not in asked:
        asked += f" ({noun} {case.name})"
    policy = f"{lead} {rule_text}"
    sections: list[tuple[str, Any]] = [(rng.choice(wording.things), sheet.content)]
    options = YES_NO
    if case.place == "state":
        sections.append((rng.choice(wording.headings), policy))
    elif case.place == "question":
        asked = f"{policy}\n{asked}" if rng.chance(0.6) else f"{asked}\n{policy}"
    else:
        met, unmet = (
            f"This holds: {rule_text}",
            rng.choice((f"This does not hold: {rule_text}", None)),
        )
        options = (("no", met), ("yes", unmet)) if case.denied else (("no", unmet), ("yes", met))
        told = rng.choice(("The answers spell out the rule.", "See the answers.", ""))
        asked = f"{asked} {told}".strip()
    return ask(
        rng,
        sections,
        asked,
        options,
        deciding=deciding_pieces(case, sheet.pieces, row),
        rule=[policy] if case.place == "state" else (),
        setting=case.setting,
        mode=case.rule.mode,
        clauses=len(case.rule.conditions),
    )


def deciding_pieces(case: CheckCase, pieces: Any, row: int) -> list[str]:
    """The substrings of the state that settle the answer."""
    phrases = rules.deciding_phrases(case.rule, case.record)
    found = [pieces[row, phrase] for phrase in phrases if (row, phrase) in pieces]
    return list(dict.fromkeys(found))


def check_family(
    name: str,
    types: Sequence[RecordType],
    wording: Wording,
    *,
    held_out: bool = False,
    modes: Sequence[str] = MODES,
) -> BranchFamily[CheckCase]:
    """A boolean family over these record types."""
    return branch_family(
        name,
        "boolean",
        lambda rng, setting: draw_check(rng, setting, types, modes),
        solve_check,
        lambda case, rng: render_check(case, rng, wording),
        twin_check,
        held_out=held_out,
    )
