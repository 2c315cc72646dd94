"""Is a named cell on the one shortest path?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import Cell, step


def path_cells(scene: MapScene) -> list[Cell] | None:
    """The cells after the agent's on the one shortest path, the goal included; else None."""
    moves = scene.field.unique_path(scene.agent)
    if moves is None:
        return None
    cells = [scene.agent]
    for way in moves:
        cells.append(step(cells[-1], way))
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


FAMILY = boolean(
    "on_path",
    "map",
    fill,
    truth,
    wordings=(
        "Is the cell at row {row}, column {column} on the shortest path from the agent to the "
        "goal?",
        "Does the shortest way from A to G pass through ({row},{column})?",
        "Walking to the goal in the fewest moves, does the agent cross row {row}, column {column}?",
        "Is ({row},{column}) one of the cells of the quickest route to the goal?",
        "Would the agent step on ({row},{column}) if it took the shortest path?",
        "Does the direct walk from agent to goal include row {row}, column {column}?",
    ),
    negated=(
        "Does the shortest path from the agent to the goal avoid ({row},{column})?",
        "Is row {row}, column {column} off the shortest route to the goal?",
        "Would going through ({row},{column}) be a detour on the way from A to G?",
        "Is ({row},{column}) not on the quickest way to G?",
        "Does the agent leave out ({row},{column}) when it walks to the goal in the fewest moves?",
        "Is the cell ({row},{column}) bypassed by the shortest path?",
    ),
    described=(("the path does not cross it", "the path crosses it"),),
)
