"""Requests checked again by a small reader of the schema, for both families that use it."""

import pytest

from tests.suites.records.test_specs import slow_faults
from thisthat.random import Rng
from thisthat.suites.branch import invalid_field, request_valid
from thisthat.suites.branch.settings import BranchSettings
from thisthat.suites.family import Family

VALID = {text for text in request_valid.VALID if "{" not in text}
INVALID = {text for text in request_valid.INVALID if "{" not in text}


@pytest.mark.parametrize("family", [request_valid.FAMILY, invalid_field.FAMILY])
def test_the_schema_and_the_body_give_the_answer(family: Family) -> None:  # type: ignore[type-arg]
    settings = BranchSettings(abstain=0)
    checked = 0
    for number in range(2_000):
        rng = Rng("request text", family.name, number)
        item = family.generate(rng, settings.draw(rng), "train")
        assert item is not None
        if not isinstance(item.state, dict):
            continue
        state = dict(item.state)
        state.pop("notes", None)
        schema = state.pop("specification", None) or state.pop("schema")
        (payload,) = state.values()
        wrong = slow_faults(schema, payload)
        if item.kind == "choice":
            name = item.options[item.answer][0]
            assert wrong == ({name} if name in schema["properties"] else set())
        elif item.question in VALID:
            assert bool(item.answer) == (not wrong)
        elif item.question in INVALID:
            assert bool(item.answer) == bool(wrong)
        checked += 1
    assert checked > 400
