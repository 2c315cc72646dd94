from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item, render_state
from thisthat.rng import Rng
from thisthat_lab.suites import scenes
from thisthat_lab.suites.scenes.scene import write
from thisthat_lab.suites.scenes.streams import solve
from thisthat_lab.suites.scenes.table import halves, tables

SETTINGS = scenes.SceneSettings()


def drawn(count: int, seed: int = 5, **settings: object) -> list[Item]:
    chosen = scenes.SceneSettings(**settings)  # type: ignore[arg-type]
    return list(islice(scenes.training_items(seed, chosen), count))


def test_the_same_seed_makes_the_same_items_and_another_others() -> None:
    assert drawn(100) == drawn(100)
    states = {render_state(item.state) for item in drawn(100)}
    assert not states & {render_state(item.state) for item in drawn(100, seed=6)}


def test_a_twin_turns_the_answer_and_changes_one_fact_alone() -> None:
    for family in scenes.families():
        for seed in range(30):
            rng = Rng(family.name, seed)
            case = family.draw(rng, SETTINGS)
            assert case is not None
            assert family.twin is not None
            twin = family.twin(case, rng)
            assert twin is not None
            assert solve(twin) != solve(case)
            (one, units), (other, changed) = write(case.scene), write(twin.scene)
            assert one != other
            assert type(one) is type(other)
            assert units[1:] == changed[1:]


def test_no_wording_of_a_boolean_leans_to_one_side() -> None:
    answers: dict[str, list[int]] = defaultdict(list)
    for family in scenes.families():
        if family.kind != "boolean":
            continue
        for seed in range(700):
            case = family.draw(Rng("even", family.name, seed), SETTINGS)
            assert case is not None
            answers[f"{family.name} {case.ask.denies}"].append(solve(case))
    assert len(answers) == 12
    for wording, given in answers.items():
        share = sum(given) / len(given)
        spread = 4 * (0.25 / len(given)) ** 0.5
        assert abs(share - 0.5) < spread, f"{wording}: {share:.2f} of {len(given)}"


def test_halves_share_no_table_and_the_settings_take_one() -> None:
    first, second = halves()
    assert not set(first) & set(second)
    assert set(first) | set(second) == set(tables())
    for part, names in (("first", first), ("second", second)):
        assert {item.facts["table"] for item in drawn(400, tables=part)} <= set(names)
    items = scenes.evaluation_items(12, settings=scenes.SceneSettings(tables="second"))
    assert {item.facts["table"] for item in items} <= set(second)
    assert len({item.family for item in items}) == len(scenes.families())


def test_measured_booleans_are_exactly_even() -> None:
    for family in ("scene_status_boolean", "scene_who_boolean"):
        items = [item for item in scenes.evaluation_items(20) if item.family == family]
        counts = Counter(item.answer for item in items)
        assert counts[0] == counts[1] > 5


def test_settings_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="tables"):
        scenes.SceneSettings(tables="third")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="twins"):
        scenes.SceneSettings(twins=2)


def test_surfaces_of_many_kinds_appear() -> None:
    states = [item.state for item in drawn(3000)]
    shown = [state for state in states if isinstance(state, str)]
    assert any(isinstance(state, dict) for state in states)
    for mark in ("Subject: ", "\n- ", "Caller: ", "Timeline:", "Dear all,", "People: "):
        assert any(mark in state for state in shown), mark
