"""Every family against an independent slow oracle.

THISTHAT_ITEMS_PER_FAMILY sets how many random items of each family are checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.suites.spatial.slow_answers import slow_answer
from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Case, SpatialFamily
from thisthat_lab.suites.spatial.registry import (
    auxiliary_families,
    benchmark_families,
    held_out_families,
)
from thisthat_lab.suites.spatial.scene import (
    SnakeScene,
    make_map_scene,
    make_place,
    make_window_scene,
)
from thisthat_lab.worlds.grid import DIRECTIONS
from thisthat_lab.worlds.maze import TOPOLOGIES
from thisthat_lab.worlds.render import snake as snake_text
from thisthat_lab.worlds.render import whole_map, window
from thisthat_lab.worlds.snake import random_snake

ITEMS = int(os.environ.get("THISTHAT_ITEMS_PER_FAMILY", "120"))
SIDES = (*range(5, 17), 21, 32)
ALL = {**benchmark_families(), **held_out_families(), **auxiliary_families()}


def cases(family: SpatialFamily[Any], count: int, fixed: bool = False) -> Iterator[Case[Any]]:
    rng = Rng("families", family.name)
    while count:
        place = make_place(rng.choice(SIDES), rng.below(1 << 40), rng.choice(TOPOLOGIES))
        for _ in range(3):
            scene: Any
            if family.scene_kind == "snake":
                snake = random_snake(rng.integer(4, 10), rng.integer(2, 30), rng)
                scene = SnakeScene(snake, 0 if fixed else rng.below(snake_text.STYLES), fixed)
            elif family.scene_kind == "map":
                scene = make_map_scene(
                    rng, place, 0 if fixed else rng.below(whole_map.STYLES), fixed
                )
            else:
                agent = rng.choice(place.maze.open_cells)
                style = 0 if fixed else rng.below(window.STYLES)
                scene = make_window_scene(place, agent, rng.choice(window.SURFACES), style, fixed)
            case = family.draw(rng, scene) if scene else None
            if case is not None and count:
                count -= 1
                yield case


def test_there_are_fifteen_and_four() -> None:
    assert len(benchmark_families()) == 15
    assert set(held_out_families()) == {
        "same_line",
        "reach_two",
        "distance_parity",
        "plan_progress",
    }
    assert all(family.held_out for family in held_out_families().values())
    assert not any(f.held_out for f in (benchmark_families() | auxiliary_families()).values())
    assert len(auxiliary_families()) >= 12
    counts = {family.name: family.option_count for family in benchmark_families().values()}
    assert counts == {
        "move_legal": 2,
        "move_two_step": 2,
        "blocked_pair": 2,
        "cell_kind": 3,
        "open_count": 5,
        "only_way": 6,
        "onward": 2,
        "plan_survives": 4,
        "goal_bearing": 8,
        "first_move": 4,
        "reachable_within": 2,
        "distance_band": 5,
        "stochastic": 2,
        "snake_safe": 2,
        "snake_food": 8,
    }


@pytest.mark.parametrize("name", ALL)
def test_answers_agree_with_the_slow_oracle(name: str) -> None:
    family = ALL[name]
    for case in cases(family, ITEMS):
        right = slow_answer(name, case.scene.state, case.blanks)
        if case.negated:
            right = 1 - right
        assert family.solve(case) == right, (case.scene.state, case.blanks, case.negated)
        rng, again = Rng(name, right), Rng(name, right)
        item = family.item_for(case, rng, "train")
        asked = family.render(case, again)
        assert item.options[item.answer] == asked.options[right]
        assert sorted(map(str, item.options)) == sorted(map(str, asked.options))
        assert "{" not in item.question
        assert item.state == case.scene.state
        item.as_question()


@pytest.mark.parametrize("name", benchmark_families() | auxiliary_families())
def test_wording_is_varied_in_training_and_fixed_in_the_benchmark(name: str) -> None:
    def shapes(fixed: bool, negated: bool = False) -> set[str]:
        rng = Rng("shapes")
        found = set()
        for case in cases(ALL[name], 150, fixed):
            if case.negated == negated:
                text = ALL[name].item_for(case, rng, "train").question
                text = re.sub(r"\(?(row|column)[-+]1\)?", "", text)
                text = re.sub(r"\b(row|column) (plus|minus) one|same (row|column)\b", "", text)
                text = re.sub("|".join((*DIRECTIONS, "agent", "goal", "row", "column")), "", text)
                text = re.sub(r"\b(one|two) s?|-?\d+(\.\d+)?|\b[AG]\b", "", text)
                found.add(re.sub(r"( and)? of the ", "", text))
        return found

    assert len(shapes(fixed=True)) == 1
    assert len(shapes(fixed=False)) >= 6
    if ALL[name].kind == "boolean":
        assert len(shapes(fixed=False, negated=True)) >= 6
        assert not shapes(fixed=True, negated=True)


def test_actuator_probability_is_exact_and_outcomes_follow_it() -> None:
    family = ALL["stochastic"]
    total = expected = variance = 0.0
    for case in cases(family, 3000):
        rho, intended = case.blanks["rho"], case.blanks["direction"]
        chance = 0.0
        for way in DIRECTIONS:
            weight = rho if way == intended else (1 - rho) / 3
            safe = slow_answer("move_legal", case.scene.state, {"direction": way})
            chance += weight * safe
        item = family.item_for(case, Rng(1), "train")
        q = 1 - chance if case.negated else chance
        assert item.facts["q"] == pytest.approx(q)
        assert item.facts["rho"] == rho
        assert item.target is None
        total += item.answer
        expected += q
        variance += q * (1 - q)
    assert abs(total - expected) < 4 * variance**0.5


def test_reachable_within_uses_the_stated_margins() -> None:
    margins = {
        case.blanks["k"] - case.scene.distance for case in cases(ALL["reachable_within"], 2000)
    }
    assert margins == {0, 1, 2, 4, -1, -2, -4, -8}
