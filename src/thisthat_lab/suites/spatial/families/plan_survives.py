"""How many of three planned moves succeed before the first blocked one?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, OPPOSITE, Direction, step
from thisthat_lab.worlds.window import RADIUS


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any] | None:
    """Three moves, none undoing the one before, all of whose cells are in the window."""
    plan: list[Direction] = [rng.choice(DIRECTIONS)]
    while len(plan) < 3:
        plan.append(
            rng.choice([direction for direction in DIRECTIONS if direction != OPPOSITE[plan[-1]]])
        )
    cell = scene.agent
    for direction in plan:
        cell = step(cell, direction)
        if max(abs(cell[0] - scene.agent[0]), abs(cell[1] - scene.agent[1])) > RADIUS:
            return None
    return {"plan": tuple(plan), "first": plan[0], "second": plan[1], "third": plan[2]}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """The number of moves made before the first that is blocked."""
    cell = scene.agent
    for made, direction in enumerate(blanks["plan"]):
        cell = step(cell, direction)
        if not scene.window.is_open(cell):
            return made
    return 3


FAMILY = choice("plan_survives", "window", fill, truth, words_of(__file__), shuffle=False)
