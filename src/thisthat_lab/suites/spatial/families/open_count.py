"""How many neighbours of a named cell are open?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import cell_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """A cell whose four neighbours are all in the window: the agent's or one beside it."""
    row, column = scene.agent
    cell = (row + rng.integer(-1, 1), column + rng.integer(-1, 1))
    return cell_blanks(cell, scene.agent)


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """The number of open neighbours; the agent's own cell is open."""
    return sum(scene.window.is_open(step(blanks["cell"], way)) for way in DIRECTIONS)


FAMILY = choice(
    "open_count",
    "window",
    fill,
    truth,
    wordings=(
        "How many of the four neighbours (north, east, south, west) of the cell at row {row}, "
        "column {column} are open? The agent's own cell counts as open.",
        "Count the open cells that touch row {row}, column {column} on its four sides. The cell "
        "the agent stands on is open.",
        "Take the cell at ({row},{column}), whatever it holds. How many of the cells directly "
        "north, east, south and west of it can be entered?",
        "Consider the cell {relative} (row {row}, column {column}). How many open neighbours does "
        "it have, diagonals not counted?",
        "From ({row},{column}), how many of the four directions lead to an open cell?",
        "What is the number of traversable neighbours of row {row}, column {column}?",
        "Of the four cells sharing a side with ({row},{column}), how many are neither wall nor "
        "outside?",
    ),
    names=(
        ("0", "1", "2", "3", "4"),
        ("none", "one", "two", "three", "four"),
        ("0 open", "1 open", "2 open", "3 open", "4 open"),
    ),
    descriptions=(
        "all four sides are closed",
        "three sides are closed",
        "two sides are closed",
        "one side is closed",
        "no side is closed",
    ),
    shuffle=False,
)
