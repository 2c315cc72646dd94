"""Lines, parities, plans and reach: asked about the worlds of training, but never in it."""

from __future__ import annotations

from functools import partial

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene, WindowScene
from thisthat_lab.suites.spatial.words import nothing
from thisthat_lab.worlds.grid import DIRECTIONS, Cell, step

_words = partial(words_of, __file__)


def _parity(scene: MapScene, blanks: Blanks) -> int:
    """0 even, 1 odd."""
    return scene.distance % 2


def _plan(rng: Rng, scene: MapScene) -> Blanks:
    """A plan of two to four moves."""
    plan = tuple(rng.choice(DIRECTIONS) for _ in range(rng.integer(2, 4)))
    return {"plan": plan, "moves": ", ".join(plan)}


def _progress(scene: MapScene, blanks: Blanks) -> int:
    """0 nearer, 1 as far, 2 farther. Blocked moves are skipped; the goal ends the plan."""
    cell = scene.agent
    for direction in blanks["plan"]:
        there = step(cell, direction)
        if cell != scene.goal and scene.place.maze.grid.is_open(there):
            cell = there
    change = scene.field.to(cell) - scene.distance
    return (change > 0) - (change < 0) + 1


def _reach(scene: WindowScene, blanks: Blanks) -> int:
    """The option for how many cells other than the agent's one or two moves lead to."""

    def beside(cell: Cell) -> set[Cell]:
        there = {step(cell, direction) for direction in DIRECTIONS}
        return {neighbour for neighbour in there if scene.window.is_open(neighbour)}

    near = beside(scene.agent)
    reached = near.union(*(beside(cell) for cell in near)) - {scene.agent}
    return min(max(len(reached) - 2, 0), 5)


def _same_line(scene: MapScene, blanks: Blanks) -> int:
    """0 same row, 1 same column, 2 neither."""
    if scene.agent[0] == scene.goal[0]:
        return 0
    return 1 if scene.agent[1] == scene.goal[1] else 2


PARITY = choice(
    "distance_parity", "map", nothing, _parity, _words("distance_parity"), held_out=True
)
FAMILIES = (
    PARITY,
    choice("plan_progress", "map", _plan, _progress, _words("plan_progress"), held_out=True),
    choice(
        "reach_two", "window", nothing, _reach, _words("reach_two"), shuffle=False, held_out=True
    ),
    choice("same_line", "map", nothing, _same_line, _words("same_line"), held_out=True),
)
