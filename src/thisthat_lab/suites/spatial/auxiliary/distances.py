"""How far it is on a whole map, which way is nearer, and what lies on the way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, boolean, choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.suites.spatial.words import at_cell, candidates, nothing
from thisthat_lab.worlds.grid import DIRECTIONS, Cell, step

LONGEST = 10
_words = partial(words_of, __file__)


def crow_distance(scene: MapScene) -> int:
    """Rows apart plus columns apart."""
    return abs(scene.agent[0] - scene.goal[0]) + abs(scene.agent[1] - scene.goal[1])


def _walk(scene: MapScene) -> int:
    return scene.distance


def _five(number: Callable[[MapScene], int]) -> Callable[[Rng, MapScene], Blanks]:
    """Five neighbouring numbers, one of them right."""
    return lambda rng, scene: candidates(rng, number(scene), 5, least=1)


def _place_of(number: Callable[[MapScene], int]) -> Callable[[MapScene, Blanks], int]:
    """Where the right number stands."""
    return lambda scene, blanks: int(blanks["numbers"].index(number(scene)))


def _short(rng: Rng, scene: MapScene) -> Blanks | None:
    """Nothing to choose; None when the path is long."""
    return {} if scene.distance <= LONGEST else None


def _two_cells(rng: Rng, scene: MapScene) -> Blanks | None:
    """Two open cells at different distances from the goal."""
    cells = scene.place.maze.open_cells
    one, other = rng.choice(cells), rng.choice(cells)
    if scene.field.to(one) == scene.field.to(other):
        return None
    names = {"p": f"({one[0]},{one[1]})", "q": f"({other[0]},{other[1]})"}
    return {"one": one, "other": other, **names}


def _nearer_cell(scene: MapScene, blanks: Blanks) -> int:
    """0 for the first cell, 1 for the second."""
    return int(scene.field.to(blanks["other"]) < scene.field.to(blanks["one"]))


def _two_moves(rng: Rng, scene: MapScene) -> Blanks | None:
    """Two legal moves of which one shortens the way; None when there are no such two."""
    better = scene.field.nearer_moves(scene.agent)
    grid = scene.place.maze.grid
    worse = [w for w in DIRECTIONS if w not in better and grid.is_open(step(scene.agent, w))]
    if not better or not worse:
        return None
    first, second = rng.shuffled([rng.choice(better), rng.choice(worse)])
    return {"first": first, "second": second}


def _nearer_move(scene: MapScene, blanks: Blanks) -> int:
    """0 for the first move, 1 for the second."""
    ends = [scene.field.to(step(scene.agent, blanks[name])) for name in ("first", "second")]
    return int(ends[1] < ends[0])


def _cell_with_one_move(rng: Rng, scene: MapScene) -> Blanks | None:
    """A cell with one best move; None when the drawn one has several or is the goal."""
    cell = rng.choice(scene.place.maze.open_cells)
    return at_cell(cell) if len(scene.field.nearer_moves(cell)) == 1 else None


def _next_step(scene: MapScene, blanks: Blanks) -> int:
    """The index of the one move that shortens the way."""
    return DIRECTIONS.index(scene.field.nearer_moves(blanks["cell"])[0])


def path_cells(scene: MapScene) -> list[Cell] | None:
    """The cells after the agent's on the one shortest path, the goal included; else None."""
    moves = scene.field.unique_path(scene.agent)
    if moves is None:
        return None
    cells = [scene.agent]
    for direction in moves:
        cells.append(step(cells[-1], direction))
    return cells[1:]


def _cell_between(rng: Rng, scene: MapScene) -> Blanks | None:
    """A cell between agent and goal, half of the time one of the path; None without a path."""
    path = path_cells(scene)
    if path is None or len(path) < 3:
        return None
    cell = rng.choice(path[:-1] if rng.chance(0.5) else scene.place.maze.open_cells)
    return None if cell in (scene.agent, scene.goal) else at_cell(cell)


def _on_path(scene: MapScene, blanks: Blanks) -> bool:
    """Whether the path crosses the cell."""
    return blanks["cell"] in (path_cells(scene) or [])


def _remainder(divisor: int) -> Callable[[MapScene, Blanks], int]:
    return lambda scene, _: scene.distance % divisor


FAMILIES = (
    choice("close_distance", "map", _five(_walk), _place_of(_walk), _words("close_distance")),
    choice("manhattan", "map", _five(crow_distance), _place_of(crow_distance), _words("manhattan")),
    choice(
        "exact_distance",
        "map",
        _short,
        lambda scene, _: scene.distance - 1,
        _words("exact_distance"),
        shuffle=False,
    ),
    *(
        choice(name, "map", nothing, _remainder(divisor), _words(name), shuffle=False)
        for name, divisor in (("distance_modulo_three", 3), ("distance_modulo_four", 4))
    ),
    choice("nearer_cell", "map", _two_cells, _nearer_cell, _words("nearer_cell")),
    choice("nearer_move", "map", _two_moves, _nearer_move, _words("nearer_move")),
    choice("next_step", "map", _cell_with_one_move, _next_step, _words("next_step")),
    boolean("on_path", "map", _cell_between, _on_path, _words("on_path")),
)
