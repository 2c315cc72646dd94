"""How many other cells can be reached in at most two moves?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """Nothing to choose: the scene has one agent."""
    return {}


def reachable_cells(scene: WindowScene) -> int:
    """The number of cells other than the agent's that one or two moves lead to."""
    is_open = scene.window.is_open
    near = {
        step(scene.agent, direction)
        for direction in DIRECTIONS
        if is_open(step(scene.agent, direction))
    }
    far = {
        step(cell, direction)
        for cell in near
        for direction in DIRECTIONS
        if is_open(step(cell, direction))
    }
    return len((near | far) - {scene.agent})


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """The option that holds the number."""
    return min(max(reachable_cells(scene) - 2, 0), 5)


FAMILY = choice(
    "reach_two", "window", fill, truth, words_of(__file__), shuffle=False, held_out=True
)
