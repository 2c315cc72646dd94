"""Drills about the record of a branch item: the steps by which its decision is reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thisthat.items.item import Item
from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import Clause
from thisthat_lab.suites.base.fields import Value
from thisthat_lab.suites.base.layout import Sheet
from thisthat_lab.suites.drills.asking import Drill, ask_fact, ask_rule, ask_value, stated
from thisthat_lab.suites.drills.streams import item_of
from thisthat_lab.suites.drills.subjects import Subject

_OWN_CLAUSE = 0.6


def drills_about(
    state: Text, sheet: Sheet, clauses: Sequence[Clause], count: int, rng: Rng
) -> Iterator[Item]:
    """Up to ``count`` drills about a shown record, most of them on the decision's own clauses."""
    known: dict[str, Value] = {
        key: value for key, value in sheet.record.items() if value is not None
    }
    fields = tuple(field for field in sheet.fields if field.key in known)
    subject = Subject(state, sheet.domain.noun, sheet.name, fields, known)
    own = rng.shuffled([clause for clause in clauses if clause.field in fields])
    for _ in range(count if fields else 0):
        if own and rng.chance(_OWN_CLAUSE):
            name, drill = "drill_clause", _ask_clause(own.pop(), known, rng)
        else:
            name, ask = rng.choice(_ASKS)
            found = ask(subject, rng)
            if found is None:
                continue
            drill = found
        yield item_of(name, subject, drill, rng)


_ASKS = (("drill_fact", ask_fact), ("drill_rule", ask_rule), ("drill_value", ask_value))


def _ask_clause(clause: Clause, known: dict[str, Value], rng: Rng) -> Drill:
    return stated(clause.say(rng), clause.holds(known[clause.field.key]), rng)
