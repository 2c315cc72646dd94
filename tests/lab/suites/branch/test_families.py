"""What every branch family keeps to: shape, evidence, twins, abstain options, determinism."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item, render_state
from thisthat.rng import Rng
from thisthat_lab.suites.base.branch_family import BranchFamily
from thisthat_lab.suites.branch import (
    BranchSettings,
    Setting,
    evaluation_items,
    held_out_families,
    training_items,
)
from thisthat_lab.suites.branch.families.routes.routing import draw as draw_routing
from thisthat_lab.suites.branch.machinery.outputs import follows
from thisthat_lab.suites.branch.registry import families

NAMES = tuple(families())
RULES = (
    "access",
    "claim",
    "deploy_blocker",
    "deploy_gate",
    "discount_tier",
    "escalation",
    "instruction_check",
    "log_anomaly",
    "meeting_conflict",
    "order_priority",
    "rate_limit",
    "refund",
    "routing",
    "same_record",
    "severity",
    "shell_risk",
    "shell_safety",
    "shipping",
    "which_instruction",
    "which_record",
    "which_slot",
)


def items_of(name: str, count: int, settings: BranchSettings) -> list[Item]:
    family = families()[name]
    rng = Rng("families", name)
    made = (family.generate(rng, settings.draw(rng), "test") for _ in range(2 * count))
    return list(islice((item for item in made if item is not None), count))


def test_there_are_enough_families_of_every_kind() -> None:
    kinds = Counter(family.kind for family in families().values())
    assert len(NAMES) >= 42
    assert len(held_out_families()) >= 10
    assert {family.kind for family in held_out_families()} == {"boolean", "choice", "score"}
    assert max(kinds.values()) <= 1.4 * min(kinds.values())


@pytest.mark.parametrize("name", NAMES)
def test_items_are_well_formed_and_show_their_evidence(name: str) -> None:
    items = items_of(name, 30, BranchSettings())
    assert len(items) == 30
    for item in items:
        assert item.as_question().kind == item.kind
        assert Item.from_dict(item.as_dict(), "row").fingerprint == item.fingerprint
        names = [option for option, _ in item.options]
        assert len(set(names)) == len(names)
        text = render_state(item.state)
        for piece in (*item.facts.get("deciding", ()), *item.facts.get("rule", ())):
            assert piece in text
        if "abstain" in item.facts:
            assert item.facts["abstain"] in names
    assert len({item.fingerprint for item in items}) > 27


@pytest.mark.parametrize("name", RULES)
def test_items_state_what_decides(name: str) -> None:
    items = items_of(name, 40, BranchSettings(abstain=0))
    assert all(item.facts["deciding"] for item in items)


# What their ``place`` says is where candidates and times stand.
@pytest.mark.parametrize("name", sorted({*RULES} - {"which_record", "which_slot"}))
def test_a_rule_is_known_exactly_where_the_state_holds_it(name: str) -> None:
    placed = [item for item in items_of(name, 40, BranchSettings()) if "place" in item.facts]
    for item in placed:
        assert bool(item.facts["rule"]) == (item.facts["place"] == "state")


@pytest.mark.parametrize("name", RULES)
def test_a_twin_has_another_answer(name: str) -> None:
    family = families()[name]
    assert isinstance(family, BranchFamily)
    if family.twin is None:
        pytest.skip("this family has no twins")
    rng = Rng("twins", name)
    settings = BranchSettings()
    found = 0
    for _ in range(60):
        case = family.draw(rng, settings.draw(rng))
        twin = family.twin(case, rng) if case is not None else None
        if twin is not None:
            assert family.solve(twin) != family.solve(case)
            first, second = (family.render(one, Rng(0)) for one in (case, twin))
            assert (first.state, first.question, first.options) != (
                second.state,
                second.question,
                second.options,
            )
            found += 1
    assert found > 20


@pytest.mark.parametrize("name", RULES)
def test_an_abstain_option_is_sometimes_right_and_mostly_not(name: str) -> None:
    items = items_of(name, 120, BranchSettings(abstain=1))
    offered = [item for item in items if "abstain" in item.facts]
    if not offered:
        pytest.skip("no fact of this family can be missing")
    right = sum(item.options[item.answer][0] == item.facts["abstain"] for item in offered)
    assert 0 < right < 0.6 * len(offered)
    assert {item.kind for item in offered} == {"choice"}


def test_exactly_one_queue_takes_a_ticket() -> None:
    rng = Rng("queues")
    for _ in range(2000):
        case = draw_routing(rng, BranchSettings(abstain=0).draw(rng))
        assert case is not None
        assert sum(rule.truth(case.sheet.record) is True for rule in case.rules) == 1


def test_at_most_one_instruction_is_broken() -> None:
    family = families()["which_instruction"]
    rng = Rng("instructions")
    for _ in range(1000):
        case = family.draw(rng, Setting())
        broken = [one for one in case.instructions if not follows(one, case.text)]
        assert len(broken) <= 1


def test_length_is_a_knob() -> None:
    rng = Rng("length")
    short = families()["refund"].generate(rng, Setting(2, 0, 0), "test")
    long = families()["refund"].generate(rng, Setting(2, 12, 90), "test")
    assert short is not None
    assert long is not None
    assert len(render_state(short.state)) < 1500 < 4500 < len(render_state(long.state))


@pytest.mark.parametrize("name", NAMES)
def test_evaluation_is_exactly_balanced(name: str) -> None:
    family = families()[name]
    items = evaluation_items(36, seed=1, names=[name])
    assert 24 <= len(items) <= 36
    groups: dict[tuple[bool, int], Counter[int]] = {}
    for item in items:
        key = ("abstain" in item.facts, len(item.options))
        groups.setdefault(key, Counter())[item.answer] += 1
    free = family.kind == "choice" and family.option_count is None
    for (_, count), places in groups.items():
        times = [places[place] for place in range(count)]
        assert max(times) - min(times) <= int(free)


def test_evaluation_is_the_same_every_time_and_apart_from_training() -> None:
    names = ["refund", "severity", "routing"]
    items = evaluation_items(40, seed=5, names=names)
    assert [one.fingerprint for one in items] == [
        one.fingerprint for one in evaluation_items(40, seed=5, names=names)
    ]
    training = list(islice(training_items(5), 1500))
    assert not {one.state_hash for one in items} & {one.state_hash for one in training}
    assert all(item.split == "seen_task" for item in items)
    held_out = {family.name for family in held_out_families()}
    assert not {item.family for item in training} & held_out
    assert [one.fingerprint for one in training[:50]] == [
        one.fingerprint for one in islice(training_items(5), 50)
    ]


def test_unknown_names_and_shares_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="names: 'refunds' is no branch family"):
        evaluation_items(4, names=["refunds"])
    with pytest.raises(InvalidInputError, match="twins: is 2"):
        BranchSettings(twins=2)
