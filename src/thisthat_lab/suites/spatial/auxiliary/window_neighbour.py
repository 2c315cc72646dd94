"""What lies beside a named cell of the window, in a named direction?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import cell_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """A cell of the inner block and a direction from it."""
    row, column = scene.agent
    cell = (row + rng.integer(-1, 1), column + rng.integer(-1, 1))
    return {**cell_blanks(cell, scene.agent), "direction": rng.choice(DIRECTIONS)}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether that neighbour is open."""
    return scene.window.is_open(step(blanks["cell"], blanks["direction"]))


FAMILY = boolean(
    "window_neighbour",
    "window",
    fill,
    truth,
    wordings=(
        "Is the cell directly {direction} of row {row}, column {column} open? The agent's own cell "
        "is open.",
        "Take ({row},{column}) and go one cell {direction}. Is that cell free?",
        "Does ({row},{column}) have an open neighbour on its {direction} side?",
        "Could someone at row {row}, column {column} step {direction}, the walls permitting?",
        "From the cell {relative}, look {direction}: is the next cell traversable?",
        "Is the {direction} neighbour of ({row},{column}) neither wall nor outside?",
    ),
    negated=(
        "Is the cell directly {direction} of row {row}, column {column} a wall or outside?",
        "Is the {direction} side of ({row},{column}) closed?",
        "Take ({row},{column}) and go one cell {direction}. Is the way blocked?",
        "From the cell {relative}, is a step {direction} impossible?",
        "Is there no open cell on the {direction} side of ({row},{column})?",
        "Would a step {direction} from row {row}, column {column} fail?",
    ),
    described=(("that neighbour is closed", "that neighbour is open"),),
)
