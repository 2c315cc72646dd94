"""What is the next move towards the goal from a named cell?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
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


FAMILY = choice("next_step", "map", fill, truth, words_of(__file__))
