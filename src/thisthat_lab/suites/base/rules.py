"""Rules made of clauses: all of, any of, at least so many of, one and any of the rest, unless.

A rule has a three-valued truth on a record and can be written as a sentence, a list or JSON, as
what must hold or as what must not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import Clause, draw_clause
from thisthat_lab.suites.base.fields import Domain, Field, Record, Value
from thisthat_lab.suites.base.wording import COUNT_WORDS, bullets, join, sentence
from thisthat_lab.tables import Tables

Form: TypeAlias = Literal["all", "any", "at least", "with any", "unless"]
_TRIES = 300
_TABLES = Tables(__file__)
_SAID = _TABLES.groups("said")
_ENDINGS = _TABLES.words("endings")
_DECREES = _TABLES.rows("decrees")


def every(truths: Iterable[bool | None]) -> bool | None:
    """Three-valued and."""
    known = list(truths)
    if False in known:
        return False
    return None if None in known else True


def some(truths: Iterable[bool | None]) -> bool | None:
    """Three-valued or."""
    known = list(truths)
    if True in known:
        return True
    return None if None in known else False


def opposite(truth: bool | None) -> bool | None:
    """Three-valued not."""
    return None if truth is None else not truth


@dataclass(frozen=True)
class Rule:
    """Clauses and how they combine.

    ``at least`` counts to ``needed``; ``with any`` asks for the first clause and one of the
    others; ``unless`` asks for all but the last clause, and that the last one fails.
    """

    form: Form
    clauses: tuple[Clause, ...]
    needed: int = 0

    def truth(self, record: Record) -> bool | None:
        """Whether the record meets the rule; None when what is known does not settle it."""
        truths = [clause.truth(record) for clause in self.clauses]
        if self.form == "all":
            return every(truths)
        if self.form == "any":
            return some(truths)
        if self.form == "with any":
            return every((truths[0], some(truths[1:])))
        if self.form == "unless":
            return every((*truths[:-1], opposite(truths[-1])))
        if truths.count(True) >= self.needed:
            return True
        return None if truths.count(True) + truths.count(None) >= self.needed else False

    def turning(self, record: Record) -> list[Clause]:
        """The clauses that would each turn the truth if they alone turned."""
        whole = self.truth(record)
        found = []
        for index, clause in enumerate(self.clauses):
            turned = list(self.clauses)
            turned[index] = clause.denied()
            if replace(self, clauses=tuple(turned)).truth(record) != whole:
                found.append(clause)
        return found

    def deciding(self, record: Record) -> list[Clause]:
        """The clauses that would turn the truth; all of them when no single one would."""
        return self.turning(record) or list(self.clauses)

    def swapped(self, old: Clause, new: Clause) -> Rule:
        """The rule with one clause replaced."""
        return replace(
            self, clauses=tuple(new if clause is old else clause for clause in self.clauses)
        )

    def say(self, rng: Rng) -> str:
        """The condition in words, to stand after "if" or "when"."""
        said = [clause.say(rng) for clause in self.clauses]
        if len(said) == 1:
            return said[0]
        if self.form == "unless":
            return f"{join(said[:-1])}, unless {said[-1]}"
        if self.form == "with any":
            first, *order = said
        else:
            first, order = "", rng.shuffled(said)
        if self.form == "at least":
            count = rng.choice((COUNT_WORDS[self.needed], str(self.needed)))
            return f"at least {count} of these {len(said)} hold: {'; '.join(order)}"
        return rng.choice(_SAID[self.form]).format(
            first=first,
            either="either " if len(order) == 2 else "",
            one_of=join(order, "or"),
            both=join(order),
            listed="; ".join(order),
            chained=", and ".join(order),
        )

    def negated(self) -> Rule | None:
        """The rule that holds exactly when this one does not, where that is one of the forms."""
        denied = tuple(clause.denied() for clause in self.clauses)
        if self.form == "all":
            return Rule("any", denied)
        if self.form == "any":
            return Rule("all", denied)
        return None

    def plain(self) -> dict[str, Any]:
        """The rule as JSON."""
        conditions = [clause.plain() for clause in self.clauses]
        if self.form == "with any":
            return {"all": [conditions[0], {"any": conditions[1:]}]}
        if self.form == "unless":
            return {"all": conditions[:-1], "unless": conditions[-1]}
        if self.form == "at least":
            return {"at_least": self.needed, "of": conditions}
        return {self.form: conditions}

    def decree(self, outcome: str, otherwise: str, rng: Rng) -> str:
        """The rule as a text of its own: what follows when it holds, and what when not.

        It may be written the other way round, as what must not hold.
        """
        rule: Rule = self
        negated = self.negated()
        if negated is not None and rng.chance(0.35):
            rule, outcome, otherwise = negated, otherwise, outcome
        if rule.form in ("all", "any", "at least") and len(rule.clauses) > 1 and rng.chance(0.4):
            return rule._listed(outcome, otherwise, rng)
        condition = rule.say(rng)
        ending = rng.choice(_ENDINGS).format(otherwise=otherwise)
        text, rest = rng.choice(_DECREES)
        text = text.format(outcome=outcome, condition=condition, otherwise=otherwise)
        return sentence(text) + rest.format(ending=ending)

    def _listed(self, outcome: str, otherwise: str, rng: Rng) -> str:
        said = rng.shuffled([clause.say(rng) for clause in self.clauses])
        count = {
            "all": rng.choice(("every one", "each", "each and every one")),
            "any": rng.choice(("at least one", "any one")),
            "at least": f"a minimum of {COUNT_WORDS[self.needed]}",
        }[self.form]
        head = f"{sentence(f'{outcome} when {count} of these points applies')[:-1]}:"
        if rng.chance(0.3):
            head = f"{sentence(f'{outcome} if {count} of the following is met')[:-1]}:"
        return f"{head}\n{bullets(said, rng)}\nOtherwise {otherwise}."


def draw_rule(fields: Sequence[Field], clauses: int, rng: Rng) -> Rule:
    """A rule over that many of the fields, one clause for each."""
    chosen = rng.sample(fields, min(clauses, len(fields)))
    drawn = tuple(draw_clause(field, rng) for field in chosen)
    if len(drawn) == 1:
        return Rule("all", drawn)
    if len(drawn) == 2:
        return Rule(rng.weighted(("all", "any", "unless"), (5, 3, 2)), drawn)
    form: Form = rng.weighted(("all", "any", "at least", "with any", "unless"), (5, 2, 2, 2, 2))
    needed = rng.integer(2, len(drawn) - 1) if form == "at least" else 0
    return Rule(form, drawn, needed)


def draw_record(domain: Domain, rules: Sequence[Rule], rng: Rng) -> dict[str, Value]:
    """A record of the domain whose values lie around the limits of the rules."""
    record: dict[str, Value] = {field.key: field.draw(rng) for field in domain.fields}
    clauses: dict[str, list[Clause]] = {}
    for rule in rules:
        for clause in rule.clauses:
            clauses.setdefault(clause.field.key, []).append(clause)
    for key, touching in clauses.items():
        record[key] = rng.choice(touching).value(rng.chance(0.5), rng)
    return record


def draw_record_for(domain: Domain, rule: Rule, wanted: bool, rng: Rng) -> dict[str, Value] | None:
    """A record on which the rule has the wanted truth, by a hair more often than not."""
    patient = rng.chance(0.7)
    for _ in range(_TRIES):
        record = draw_record(domain, [rule], rng)
        if rule.truth(record) == wanted and (not patient or rule.turning(record)):
            return record
    return None
