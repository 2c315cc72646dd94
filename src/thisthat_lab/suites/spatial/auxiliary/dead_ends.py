"""How many open cells close to the agent have exactly one open neighbour?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import score, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """Nothing to choose: the nine cells around and under the agent."""
    return {}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """The number of dead ends among them."""
    row, column = scene.agent
    is_open = scene.window.is_open
    cells = [(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return sum(
        is_open(cell) and sum(is_open(step(cell, direction)) for direction in DIRECTIONS) == 1
        for cell in cells
    )


FAMILY = score("dead_ends", "window", fill, truth, words_of(__file__))
