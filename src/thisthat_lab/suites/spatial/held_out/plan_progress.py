"""Does a plan end nearer to the goal, as far from it or farther, by path length?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """A plan of two to four moves."""
    plan = tuple(rng.choice(DIRECTIONS) for _ in range(rng.integer(2, 4)))
    return {"plan": plan, "moves": ", ".join(plan)}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """0 nearer, 1 as far, 2 farther. Blocked moves are skipped; the goal ends the plan."""
    cell = scene.agent
    for direction in blanks["plan"]:
        there = step(cell, direction)
        if cell != scene.goal and scene.place.maze.grid.is_open(there):
            cell = there
    change = scene.field.to(cell) - scene.distance
    return (change > 0) - (change < 0) + 1


FAMILY = choice("plan_progress", "map", fill, truth, words_of(__file__), held_out=True)
