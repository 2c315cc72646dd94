"""Which-of-several decisions: ordered branches, the first whose rule holds is the answer.

Used for choices (a named outcome for each branch) and for ordered scores (the highest level
whose rule holds). The last branch has no rule: it is what remains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import Clause
from thisthat_lab.suites.base.fields import Domain, Record, Value
from thisthat_lab.suites.base.layout import Sheet, draw_sheet
from thisthat_lab.suites.base.rules import Rule, draw_record, draw_rule
from thisthat_lab.suites.base.settings import Setting

_TRIES = 400


@dataclass(frozen=True)
class Branches:
    """Rules in the order they are tried; one outcome more than rules."""

    rules: tuple[Rule, ...]

    @property
    def count(self) -> int:
        """How many outcomes there are."""
        return len(self.rules) + 1

    def outcomes(self, record: Record) -> set[int]:
        """Every outcome that the known facts leave open."""
        open_outcomes: set[int] = set()
        for index, rule in enumerate(self.rules):
            truth = rule.truth(record)
            if truth is not False:
                open_outcomes.add(index)
            if truth:
                return open_outcomes
        return {*open_outcomes, len(self.rules)}

    def outcome(self, record: Record) -> int | None:
        """The branch taken; None when missing facts leave more than one open."""
        left = self.outcomes(record)
        return left.pop() if len(left) == 1 else None

    def keys(self) -> list[str]:
        """The fields the rules speak of, each once."""
        return list(dict.fromkeys(c.field.key for rule in self.rules for c in rule.clauses))

    def deciding(self, record: Record) -> list[str]:
        """The fields of the branch taken; those of every rule when the last one remained."""
        taken = min(self.outcomes(record))
        if taken == len(self.rules):
            return self.keys()
        return [clause.field.key for clause in self.rules[taken].clauses]

    def swapped(self, old: Clause, new: Clause) -> Branches:
        """The same branches with one clause replaced wherever it stands."""
        return replace(self, rules=tuple(rule.swapped(old, new) for rule in self.rules))

    @property
    def points(self) -> tuple[Clause, ...] | None:
        """The conditions that are counted, when every branch counts the same ones; else None."""
        first = self.rules[0]
        if all(rule.form == "at least" and rule.clauses == first.clauses for rule in self.rules):
            return first.clauses
        return None


def draw_branches(domain: Domain, count: int, clauses: int, rng: Rng) -> Branches:
    """``count`` outcomes decided by rules of one to ``clauses`` clauses over the domain."""
    rules = tuple(draw_rule(domain.fields, rng.integer(1, clauses), rng) for _ in range(count - 1))
    return Branches(rules)


def draw_record_taking(
    domain: Domain, branches: Branches, wanted: int, rng: Rng
) -> dict[str, Value] | None:
    """A record that takes the wanted branch, or None when none was found."""
    for _ in range(_TRIES):
        record = draw_record(domain, branches.rules, rng)
        if branches.outcome(record) == wanted:
            return record
    return None


def without_one(
    domain: Domain, branches: Branches, record: Record, deciding: bool, rng: Rng
) -> tuple[dict[str, Value], str] | None:
    """The record less one fact, and its key: one that leaves it open, or one that does not."""
    keys = [
        field.key
        for field in domain.fields
        if (branches.outcome({**record, field.key: None}) is None) == deciding
    ]
    if not keys:
        return None
    key = rng.choice(keys)
    return {**record, key: None}, key


def twin_of(branches: Branches, record: Record, rng: Rng) -> Branches | dict[str, Value] | None:
    """Changed branches, or a changed record, with another outcome; None when none was found."""
    before = branches.outcome(record)
    if before is None:
        return None
    clauses = [
        clause
        for rule in branches.rules
        for clause in rule.clauses
        if record.get(clause.field.key) is not None
    ]
    change_rule = rng.chance(0.5)
    for clause in rng.shuffled(clauses):
        value = record[clause.field.key]
        if change_rule:
            shifted = clause.shifted(value, rng)
            if shifted is None:
                continue
            changed = branches.swapped(clause, shifted)
            if changed.outcome(record) not in (before, None):
                return changed
        else:
            moved = {**record, clause.field.key: clause.value(not clause.holds(value), rng)}
            if branches.outcome(moved) not in (before, None):
                return moved
    return None


def draw_sheet_taking(
    domain: Domain, branches: Branches, setting: Setting, rng: Rng, *, may_omit: bool
) -> Sheet | None:
    """A sheet that takes every branch (or leaves it open, where offered) equally often, or None.

    With ``abstain`` one fact is unknown; ``may_omit`` leaves its line out half of the time.
    """
    wanted = rng.below(branches.count + setting.abstain)
    is_open = wanted == branches.count
    taken = rng.below(branches.count) if is_open else wanted
    record = draw_record_taking(domain, branches, taken, rng)
    if record is None:
        return None
    needed = branches.keys()
    if setting.abstain:
        lacking = without_one(domain, branches, record, is_open, rng)
        if lacking is None:
            return None
        record, key = lacking
        if may_omit and rng.chance(0.5):
            needed = [name for name in needed if name != key]
        elif key not in needed:
            needed.append(key)
    return draw_sheet(domain, record, needed, setting.distractors, rng)
