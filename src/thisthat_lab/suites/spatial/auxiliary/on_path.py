"""Is a named cell on the one shortest path?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import Cell, step


def path_cells(scene: MapScene) -> list[Cell] | None:
    """The cells after the agent's on the one shortest path, the goal included; else None."""
    moves = scene.field.unique_path(scene.agent)
    if moves is None:
        return None
    cells = [scene.agent]
    for direction in moves:
        cells.append(step(cells[-1], direction))
    return cells[1:]


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """A cell between agent and goal, half of the time one of the path; None without a path."""
    path = path_cells(scene)
    if path is None or len(path) < 3:
        return None
    cell = rng.choice(path[:-1] if rng.chance(0.5) else scene.place.maze.open_cells)
    if cell in (scene.agent, scene.goal):
        return None
    return {"cell": cell, "row": cell[0], "column": cell[1]}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the path crosses the cell."""
    return blanks["cell"] in (path_cells(scene) or [])


FAMILY = boolean("on_path", "map", fill, truth, words_of(__file__))
