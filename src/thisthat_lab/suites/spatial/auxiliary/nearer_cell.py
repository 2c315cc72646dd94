"""Which of two cells is nearer to the goal by path length?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """Two open cells at different distances from the goal."""
    cells = scene.place.maze.open_cells
    one, other = rng.choice(cells), rng.choice(cells)
    if scene.field.to(one) == scene.field.to(other):
        return None
    return {
        "one": one,
        "other": other,
        "p": f"({one[0]},{one[1]})",
        "q": f"({other[0]},{other[1]})",
    }


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """0 for the first cell, 1 for the second."""
    return int(scene.field.to(blanks["other"]) < scene.field.to(blanks["one"]))


FAMILY = choice("nearer_cell", "map", fill, truth, words_of(__file__))
