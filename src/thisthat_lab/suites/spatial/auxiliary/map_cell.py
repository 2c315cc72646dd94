"""Is a named cell of the whole map open?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
from thisthat_lab.suites.spatial.scene import MapScene


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Any cell of the map."""
    size = scene.place.maze.size
    cell = (rng.below(size), rng.below(size))
    return {"cell": cell, "row": cell[0], "column": cell[1]}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> bool:
    """Whether it can be entered."""
    return scene.place.maze.grid.is_open(blanks["cell"])


FAMILY = boolean("map_cell", "map", fill, truth, words_of(__file__))
