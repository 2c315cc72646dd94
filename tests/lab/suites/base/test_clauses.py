"""Clauses and rules: truth against a plain reading of their JSON form, values, shifts, negation."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.suites.branch.oracle import rule_truth
from thisthat.rng import Rng
from thisthat_lab.suites.base.clauses import draw_clause
from thisthat_lab.suites.base.domains import ALL
from thisthat_lab.suites.base.fields import Domain
from thisthat_lab.suites.base.rules import draw_record, draw_record_for, draw_rule
from thisthat_lab.suites.base.wording import EXTRA_KEYS

seeds = st.integers(0, 2**32)


def _plain(domain: Domain, record: dict[str, Any]) -> dict[str, Any]:
    return {field.key: field.plain(record.get(field.key)) for field in domain.fields}


@settings(deadline=None, max_examples=300)
@given(seeds)
def test_a_clause_proposes_values_of_the_wanted_truth(seed: int) -> None:
    rng = Rng("clause", seed)
    field = rng.choice(rng.choice(ALL).fields)
    clause = draw_clause(field, rng)
    for wanted in (True, False):
        value = clause.value(wanted, rng)
        assert clause.holds(value) == wanted
        assert clause.denied().holds(value) != wanted
        shifted = clause.shifted(value, rng)
        assert shifted is None or shifted.holds(value) != wanted
    assert clause.truth({}) is None
    assert clause.say(rng)


@settings(deadline=None, max_examples=300)
@given(seeds, st.integers(1, 4))
def test_a_rule_is_true_when_its_json_form_read_plainly_is(seed: int, clauses: int) -> None:
    rng = Rng("rule", seed)
    domain = rng.choice(ALL)
    rule = draw_rule(domain.fields, clauses, rng)
    record = draw_record(domain, [rule], rng)
    truth = rule.truth(record)
    assert truth == rule_truth(rule.plain(), _plain(domain, record))
    negated = rule.negated()
    if negated is not None:
        assert negated.truth(record) == (not truth)
    for clause in rule.turning(record):
        moved = {**record, clause.field.key: clause.value(not clause.truth(record), rng)}
        assert rule.truth(moved) != truth


@settings(deadline=None, max_examples=200)
@given(seeds, st.integers(1, 4), st.booleans())
def test_a_missing_fact_opens_a_rule_only_if_it_could_turn_it(
    seed: int, clauses: int, wanted: bool
) -> None:
    rng = Rng("missing", seed)
    domain = rng.choice(ALL)
    rule = draw_rule(domain.fields, clauses, rng)
    record = draw_record_for(domain, rule, wanted, rng)
    assert record is not None
    turning = rule.turning(record)
    for clause in rule.clauses:
        lacking = rule.truth({**record, clause.field.key: None})
        assert (lacking is None) == (clause in turning)
        assert lacking in (None, wanted)


def test_fields_are_told_apart_from_idle_ones() -> None:
    for domain in ALL:
        keys = [field.key for field in domain.fields]
        assert len(set(keys)) == len(keys)
        assert not set(keys) & set(EXTRA_KEYS), domain.noun
    nouns = [domain.noun for domain in ALL]
    assert len(set(nouns)) == len(nouns)
