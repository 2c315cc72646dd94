"""How many neighbours of a named cell of the whole map are open?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import score, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """The agent's cell or any open cell."""
    cell = scene.agent if rng.chance(0.3) else rng.choice(scene.place.maze.open_cells)
    return {"cell": cell, "row": cell[0], "column": cell[1]}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The number of open neighbours."""
    grid = scene.place.maze.grid
    return sum(grid.is_open(step(blanks["cell"], direction)) for direction in DIRECTIONS)


FAMILY = score("map_degree", "map", fill, truth, words_of(__file__))
