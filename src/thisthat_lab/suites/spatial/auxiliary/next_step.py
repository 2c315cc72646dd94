"""What is the next move towards the goal from a named cell?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import DIRECTIONS


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """A cell with one best move; None when the drawn one has several or is the goal."""
    cell = rng.choice(scene.place.maze.open_cells)
    if len(scene.field.nearer_moves(cell)) != 1:
        return None
    return {"cell": cell, "row": cell[0], "column": cell[1]}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The index of the one move that shortens the way."""
    return DIRECTIONS.index(scene.field.nearer_moves(blanks["cell"])[0])


FAMILY = choice(
    "next_step",
    "map",
    fill,
    truth,
    wordings=(
        "Someone stands at row {row}, column {column} and takes the shortest way to the goal. What "
        "is the first move?",
        "From ({row},{column}), which single step brings one closer to G by path length?",
        "Which move from row {row}, column {column} begins the shortest path to the goal?",
        "If the agent were at ({row},{column}) instead, which way should it go to reach G soonest?",
        "At ({row},{column}): which direction leads to the goal fastest?",
        "Name the best next move towards the goal for a walker at row {row}, column {column}.",
    ),
    names=(
        ("north", "east", "south", "west"),
        ("N", "E", "S", "W"),
        ("up (north)", "right (east)", "down (south)", "left (west)"),
    ),
)
