"""What every family built on typed records keeps to, whatever it is about."""

from typing import Any

import pytest

from thisthat.items.item import Item, render_state
from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import BranchSettings, Setting
from thisthat_lab.suites.branch.registry import families

NAMES = (
    "candidate_fit", "change_level", "contract_clause", "count_matching", "duplicate_ticket",
    "expense_compliance", "expense_level", "facts_across", "facts_hold", "feature_flag",
    "first_event", "format_grade", "incident_owner", "invalid_field", "inventory_reorder",
    "loan_precheck", "password_score", "record_agreement", "reorder_urgency", "request_valid",
    "retention_action", "risk_points", "rubric_score", "safety_check", "sla_breach", "sla_tier",
    "tool_selection", "travel_level",
)  # fmt: skip
HELD_OUT = {
    "feature_flag", "first_event", "record_agreement", "retention_action", "safety_check",
    "travel_level",
}  # fmt: skip
NEVER_OPEN = {
    "count_matching", "facts_across", "first_event", "invalid_field", "request_valid",
    "tool_selection",
}  # fmt: skip


def drawn(name: str, count: int, settings: BranchSettings) -> list[tuple[Any, Item]]:
    family = families()[name]
    made = []
    for number in range(count):
        rng = Rng("contract", name, number)
        case = family.draw(rng, settings.draw(rng))
        if case is not None:
            made.append((case, family.item_for(case, rng, "train")))
    assert len(made) > count // 2
    return made


def test_held_out_families_cover_every_kind() -> None:
    kinds = {families()[name].kind for name in HELD_OUT}
    assert {name for name in NAMES if families()[name].held_out} == HELD_OUT
    assert kinds == {"boolean", "choice", "score"}


@pytest.mark.parametrize("name", NAMES)
def test_items_are_well_formed_and_their_deciding_facts_stand_in_the_state(name: str) -> None:
    family = families()[name]
    answers = set()
    states = set()
    for case, item in drawn(name, 150, BranchSettings(abstain=0)):
        item.as_question()
        assert item.kind == family.kind
        assert item.family == name
        answers.add((len(item.options), item.answer))
        states.add(item.state_hash)
        text = render_state(item.state)
        for piece in (*item.facts["deciding"], *item.facts.get("rule", ())):
            assert piece in text
        assert 0 <= family.solve(case) < len(item.options)
        again = family.item_for(case, Rng("again", name), "train")
        assert again == family.item_for(case, Rng("again", name), "train")
        assert "{" not in item.question
    assert len(states) > 60
    for size in {size for size, _ in answers if size <= 4}:
        assert {(size, place) for place in range(size)} <= answers


@pytest.mark.parametrize("name", NAMES)
def test_abstain_options_are_right_and_wrong(name: str) -> None:
    right = wrong = 0
    for _, item in drawn(name, 150, BranchSettings(abstain=1)):
        if "abstain" not in item.facts:
            assert name in NEVER_OPEN
            continue
        assert item.kind == "choice"
        places = [option for option, _ in item.options]
        place = places.index(item.facts["abstain"])
        right += item.answer == place
        wrong += item.answer != place
    if name not in NEVER_OPEN:
        assert right >= 10
        assert wrong >= 40


@pytest.mark.parametrize("name", NAMES)
def test_twins_have_another_answer(name: str) -> None:
    family = families()[name]
    twins = 0
    for case, _ in drawn(name, 80, BranchSettings(abstain=0.2)):
        twin = family.twin(case, Rng("twin", name))  # type: ignore[attr-defined]
        if twin is None:
            continue
        twins += 1
        assert family.solve(case) != family.solve(twin)
        family.item_for(twin, Rng("twin text", name), "train").as_question()
    assert twins >= 20


@pytest.mark.parametrize("name", NAMES)
def test_length_makes_states_longer(name: str) -> None:
    family = families()[name]
    sizes = []
    for length in (0, 30):
        total = 0
        for number in range(20):
            rng = Rng("length", name, number)
            case = family.draw(rng, Setting(2, 2, length))
            if case is not None:
                item = family.item_for(case, Rng("text", number), "train")
                total += len(render_state(item.state))
        sizes.append(total)
    assert sizes[1] > 1.5 * sizes[0]
