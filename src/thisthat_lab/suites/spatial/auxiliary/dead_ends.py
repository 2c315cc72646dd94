"""How many open cells close to the agent have exactly one open neighbour?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import score
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
        is_open(cell) and sum(is_open(step(cell, way)) for way in DIRECTIONS) == 1 for cell in cells
    )


FAMILY = score(
    "dead_ends",
    "window",
    fill,
    truth,
    wordings=(
        "Of the nine cells in the 3x3 block around the agent, how many are dead ends: open, with "
        "exactly one open neighbour?",
        "How many dead ends are there in the 3x3 block centred on the agent?",
        "Count the open cells at most one row and one column from the agent (its own included) "
        "that have a single open neighbour.",
        "How many of the cells right around the agent, corners and its own cell included, are "
        "open but have only one way out?",
        "In the inner 3x3 cells, how many open cells have one open side only?",
        "Dead ends touching the agent or under it, diagonals included: how many?",
    ),
    levels=(
        ("none", "one", "two", "three or more"),
        ("0 dead ends", "1 dead end", "2 dead ends", "3 dead ends or more"),
    ),
)
