"""Which of two cells is nearer to the goal by path length?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
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


FAMILY = choice(
    "nearer_cell",
    "map",
    fill,
    truth,
    wordings=(
        "Which of the cells {p} and {q} is nearer to the goal by shortest path?",
        "Counting moves, is the goal closer to {p} or to {q}?",
        "An agent may start at {p} or at {q}. From which start is the walk to G shorter?",
        "Compare the path lengths from {p} and from {q} to the goal. Which is smaller?",
        "From which of these two cells, {p} or {q}, does it take fewer moves to get to G?",
        "Of {p} and {q}, which has the shorter way to the goal?",
    ),
    names=(("{p}", "{q}"), ("the cell {p}", "the cell {q}"), ("from {p}", "from {q}")),
)
