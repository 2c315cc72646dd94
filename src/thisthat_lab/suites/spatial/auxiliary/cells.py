"""What single cells, rows and columns of a map or a window are like, and where they stand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, boolean, choice, score, words_of
from thisthat_lab.suites.spatial.families.windows import LEGAL_WORDS
from thisthat_lab.suites.spatial.scene import MapScene, WindowScene
from thisthat_lab.suites.spatial.words import any_direction, at_cell, candidates, near_cell, nothing
from thisthat_lab.worlds.grid import DIRECTIONS, step
from thisthat_lab.worlds.window import SIDE

_words = partial(words_of, __file__)


def _axis(rng: Rng, scene: MapScene) -> Blanks:
    """Who, which axis, and six numbers of which one is right."""
    who, axis = rng.choice(("agent", "goal")), rng.choice(("row", "column"))
    mark = "A" if who == "agent" else "G"
    blanks = {"who": who, "axis": axis, "mark": mark}
    return blanks | candidates(rng, _right(scene, blanks), 6)


def _right(scene: MapScene, blanks: Blanks) -> int:
    cell = scene.agent if blanks["who"] == "agent" else scene.goal
    return cell[0] if blanks["axis"] == "row" else cell[1]


def _coordinate(scene: MapScene, blanks: Blanks) -> int:
    """Where the coordinate stands among the numbers."""
    return int(blanks["numbers"].index(_right(scene, blanks)))


def _dead_ends(scene: WindowScene, blanks: Blanks) -> int:
    """The number of dead ends among them."""
    row, column = scene.agent
    is_open = scene.window.is_open
    cells = [(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return sum(
        is_open(cell) and sum(is_open(step(cell, direction)) for direction in DIRECTIONS) == 1
        for cell in cells
    )


def _any_cell(rng: Rng, scene: MapScene) -> Blanks:
    """Any cell of the map."""
    size = scene.place.maze.size
    return at_cell((rng.below(size), rng.below(size)))


def _map_cell(scene: MapScene, blanks: Blanks) -> bool:
    """Whether it can be entered."""
    return scene.place.maze.grid.is_open(blanks["cell"])


def _open_cell(rng: Rng, scene: MapScene) -> Blanks:
    """The agent's cell or any open cell."""
    return at_cell(scene.agent if rng.chance(0.3) else rng.choice(scene.place.maze.open_cells))


def _map_degree(scene: MapScene, blanks: Blanks) -> int:
    """The number of open neighbours."""
    grid = scene.place.maze.grid
    return sum(grid.is_open(step(blanks["cell"], direction)) for direction in DIRECTIONS)


def _map_legal(scene: MapScene, blanks: Blanks) -> bool:
    """Whether the destination of the agent's step is open."""
    return scene.place.maze.grid.is_open(step(scene.agent, blanks["direction"]))


def _line(rng: Rng, scene: WindowScene) -> Blanks:
    """A row or a column of the window."""
    axis = rng.choice(("row", "column"))
    place = rng.below(SIDE)
    top, left = scene.window.first
    return {"axis": axis, "place": place, "line": (top if axis == "row" else left) + place}


def _row_count(scene: WindowScene, blanks: Blanks) -> int:
    """The number of open cells; the agent's own counts."""
    rows = scene.window.rows
    place = blanks["place"]
    line = rows[place] if blanks["axis"] == "row" else "".join(row[place] for row in rows)
    return sum(mark in ".A" for mark in line)


def _near_cell(rng: Rng, scene: WindowScene) -> Blanks:
    """A cell of the inner block and a direction from it."""
    return {**near_cell(rng, scene), "direction": rng.choice(DIRECTIONS)}


def _neighbour(scene: WindowScene, blanks: Blanks) -> bool:
    """Whether that neighbour is open."""
    return scene.window.is_open(step(blanks["cell"], blanks["direction"]))


_wordings = LEGAL_WORDS.wordings
_MAP_WORDS = replace(LEGAL_WORDS, wordings=_wordings[:1] + _wordings[2:])
FAMILIES = (
    choice("coordinate", "map", _axis, _coordinate, _words("coordinate")),
    score("dead_ends", "window", nothing, _dead_ends, _words("dead_ends")),
    boolean("map_cell", "map", _any_cell, _map_cell, _words("map_cell")),
    score("map_degree", "map", _open_cell, _map_degree, _words("map_degree")),
    boolean("map_legal", "map", any_direction, _map_legal, _MAP_WORDS),
    score("row_count", "window", _line, _row_count, _words("row_count")),
    boolean("window_neighbour", "window", _near_cell, _neighbour, _words("window_neighbour")),
)
