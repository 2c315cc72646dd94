from __future__ import annotations

from thisthat_lab.suites.scenes.facts.named import Named
from thisthat_lab.suites.scenes.facts.number import Amount, Number
from thisthat_lab.suites.scenes.facts.status import Status
from thisthat_lab.suites.scenes.facts.who import Who
from thisthat_lab.suites.scenes.table import tables

LEAST_TABLES = 140
LEAST_WORDINGS = {Status: 6, Number: 3, Named: 3, Who: 3}


def test_there_are_many_tables_with_many_wordings() -> None:
    assert len(tables()) >= LEAST_TABLES
    for table in tables().values():
        assert table.of_kind(Status), table.name
        for fact in table.facts:
            if isinstance(fact, Status):
                says = [value.say for value in fact.values]
            elif isinstance(fact, (Number, Named, Who)):
                says = [fact.say_it]
            else:
                continue
            for wordings in says:
                assert len(set(wordings)) >= LEAST_WORDINGS[type(fact)], (table.name, fact.field)


def test_no_sentence_states_two_values_and_no_field_has_two_facts() -> None:
    for table in tables().values():
        fields = [fact.field for fact in table.facts]
        assert len(set(fields)) == len(fields), table.name
        for fact in table.facts:
            if isinstance(fact, Status):
                said = [text for value in fact.values for text in value.say]
                assert len(set(said)) == len(said), (table.name, fact.field)


def test_levels_and_bounds_of_a_number() -> None:
    number = next(
        fact for fact in tables()["meeting"].facts if isinstance(fact, Number) and fact.clock
    )
    assert number.levels((540, 600)) == ["before 9:00", "9:00 to before 10:00", "10:00 or later"]
    early = Amount(540, 600, True, False)
    assert number.excludes(early, Amount(630, 600, True, False))
    assert not number.excludes(early, Amount(510, 600, True, False))
