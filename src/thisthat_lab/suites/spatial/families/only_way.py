"""Which is the single open direction from a named cell, if there is exactly one?"""

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
    """The index of the only open direction, 4 for none, 5 for more than one."""
    ways = [
        index
        for index, way in enumerate(DIRECTIONS)
        if scene.window.is_open(step(blanks["cell"], way))
    ]
    if len(ways) == 1:
        return ways[0]
    return 5 if ways else 4


FAMILY = choice(
    "only_way",
    "window",
    fill,
    truth,
    wordings=(
        "Which is the only direction from row {row}, column {column} that leads to an open cell? "
        "The agent's own cell counts as open.",
        "Look at the four neighbours of ({row},{column}). Exactly one of them may be open: which "
        "way is it? The cell the agent stands on is open.",
        "Is there a single way out of the cell at row {row}, column {column}, and where does it "
        "go?",
        "Standing at ({row},{column}), whatever that cell holds, which one direction is not "
        "blocked?",
        "Consider the cell {relative} (row {row}, column {column}). Name its one open side.",
        "If just one neighbour of row {row}, column {column} can be entered, which is it?",
        "Which side of ({row},{column}) is the only one that is neither wall nor outside?",
    ),
    names=(
        ("north", "east", "south", "west", "none", "more than one"),
        (
            "only north",
            "only east",
            "only south",
            "only west",
            "no open direction",
            "several open directions",
        ),
        ("up (north)", "right (east)", "down (south)", "left (west)", "nowhere", "two or more"),
    ),
    descriptions=(
        "the cell to the north is the one open neighbour",
        "the cell to the east is the one open neighbour",
        "the cell to the south is the one open neighbour",
        "the cell to the west is the one open neighbour",
        "all four neighbours are closed",
        "at least two neighbours are open",
    ),
)
