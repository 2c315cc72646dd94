"""What is at a named cell: wall, open or outside?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import cell_blanks
from thisthat_lab.worlds.window import RADIUS

ORDER = "#.X"


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any] | None:
    """A cell of the window that is not the agent's."""
    rows, columns = rng.integer(-RADIUS, RADIUS), rng.integer(-RADIUS, RADIUS)
    if rows == columns == 0:
        return None
    row, column = scene.agent
    return cell_blanks((row + rows, column + columns), scene.agent)


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """0 wall, 1 open, 2 outside."""
    return ORDER.index(scene.window.at(blanks["cell"]))


FAMILY = choice(
    "cell_kind",
    "window",
    fill,
    truth,
    wordings=(
        "What is at row {row}, column {column}?",
        "What kind of cell lies {relative}?",
        "Look at the cell in row {row} and column {column}. What is it?",
        "Which describes the cell at ({row},{column}), given as (row,column)?",
        "The cell {relative}, row {row}, column {column}: what does the map say is there?",
        "Tell the kind of the cell ({row},{column}).",
        "Is row {row}, column {column} a wall, open floor, or beyond the edge of the maze?",
    ),
    names=(
        ("wall", "open", "outside"),
        ("a wall", "an open cell", "outside the maze"),
        ("blocked by a wall", "free floor", "beyond the edge"),
    ),
    descriptions=(
        "inside the maze, cannot be entered",
        "inside the maze, can be entered",
        "not part of the maze",
    ),
)
