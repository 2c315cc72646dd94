"""Is a named cell of the whole map open?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import MapScene


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Any cell of the map."""
    size = scene.place.maze.size
    cell = (rng.below(size), rng.below(size))
    return {"cell": cell, "row": cell[0], "column": cell[1]}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> bool:
    """Whether it can be entered."""
    return scene.place.maze.grid.is_open(blanks["cell"])


FAMILY = boolean(
    "map_cell",
    "map",
    fill,
    truth,
    wordings=(
        "Is the cell at row {row}, column {column} open?",
        "Can one stand on ({row},{column})?",
        "Does the map show free floor at row {row}, column {column}?",
        "Is row {row}, column {column} free of a wall?",
        "Look up ({row},{column}). Can it be entered?",
        "Is the cell ({row},{column}) traversable?",
    ),
    negated=(
        "Is there a wall at row {row}, column {column}?",
        "Is the cell ({row},{column}) a wall?",
        "Is ({row},{column}) impossible to enter?",
        "Does the map show # at row {row}, column {column}?",
        "Is row {row}, column {column} blocked?",
        "Would someone walking onto ({row},{column}) hit a wall?",
    ),
    described=(("it is a wall", "it is free"),),
)
