"""What can be read off the window around the agent: cells, steps and short plans."""

from __future__ import annotations

from functools import partial

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, boolean, choice, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import (
    any_direction,
    cell_blanks,
    direction_blanks,
    near_cell,
)
from thisthat_lab.worlds.grid import DIRECTIONS, OPPOSITE, Direction, step
from thisthat_lab.worlds.window import RADIUS

_words = partial(words_of, __file__)
# The recorded cohort's own wording and descriptions are not among these: it is measured only.
LEGAL_WORDS = _words("move_legal")
CELL_KINDS = "#.X"


def open_ways(scene: WindowScene, cell: tuple[int, int]) -> list[Direction]:
    """The directions in which the cell has an open neighbour."""
    return [way for way in DIRECTIONS if scene.window.is_open(step(cell, way))]


def _two_directions(rng: Rng, scene: WindowScene) -> Blanks:
    """Two different directions."""
    first, second = rng.sample(DIRECTIONS, 2)
    return {"first": first, "second": second}


def _both_blocked(scene: WindowScene, blanks: Blanks) -> bool:
    """Whether neither neighbour can be entered."""
    return not {blanks["first"], blanks["second"]} & set(open_ways(scene, scene.agent))


def _other_cell(rng: Rng, scene: WindowScene) -> Blanks | None:
    """A cell of the window that is not the agent's."""
    rows, columns = rng.integer(-RADIUS, RADIUS), rng.integer(-RADIUS, RADIUS)
    if rows == columns == 0:
        return None
    row, column = scene.agent
    return cell_blanks((row + rows, column + columns), scene.agent)


def _cell_kind(scene: WindowScene, blanks: Blanks) -> int:
    """0 wall, 1 open, 2 outside."""
    return CELL_KINDS.index(scene.window.at(blanks["cell"]))


def _move_legal(scene: WindowScene, blanks: Blanks) -> bool:
    """Whether the destination is open."""
    return scene.window.is_open(step(scene.agent, blanks["direction"]))


def _but_back(rng: Rng, last: Direction) -> Direction:
    """A direction that does not undo the last one."""
    return rng.choice([way for way in DIRECTIONS if way != OPPOSITE[last]])


def _two_steps(rng: Rng, scene: WindowScene) -> Blanks:
    """Two steps that do not undo each other."""
    first = rng.choice(DIRECTIONS)
    return {"first": first, "second": _but_back(rng, first)}


def _both_legal(scene: WindowScene, blanks: Blanks) -> bool:
    """Whether both destinations are open."""
    middle = step(scene.agent, blanks["first"])
    is_open = scene.window.is_open
    return is_open(middle) and is_open(step(middle, blanks["second"]))


def _only_way(scene: WindowScene, blanks: Blanks) -> int:
    """The index of the only open direction, 4 for none, 5 for more than one."""
    ways = open_ways(scene, blanks["cell"])
    if len(ways) == 1:
        return DIRECTIONS.index(ways[0])
    return 5 if ways else 4


def _open_count(scene: WindowScene, blanks: Blanks) -> int:
    """The number of open neighbours; the agent's own cell is open."""
    return len(open_ways(scene, blanks["cell"]))


def _legal_step(rng: Rng, scene: WindowScene) -> Blanks | None:
    """A legal step; None when the drawn one is not."""
    direction = rng.choice(DIRECTIONS)
    is_open = scene.window.is_open(step(scene.agent, direction))
    return direction_blanks(direction) if is_open else None


def _onward(scene: WindowScene, blanks: Blanks) -> bool:
    """Whether the cell reached has an open neighbour other than the agent's cell."""
    direction = blanks["direction"]
    ways = open_ways(scene, step(scene.agent, direction))
    return any(way != OPPOSITE[direction] for way in ways)


def _three_moves(rng: Rng, scene: WindowScene) -> Blanks | None:
    """Three moves, none undoing the one before, all of whose cells are in the window."""
    plan: list[Direction] = [rng.choice(DIRECTIONS)]
    while len(plan) < 3:
        plan.append(_but_back(rng, plan[-1]))
    cell = scene.agent
    for direction in plan:
        cell = step(cell, direction)
        if max(abs(cell[0] - scene.agent[0]), abs(cell[1] - scene.agent[1])) > RADIUS:
            return None
    return {"plan": tuple(plan), "first": plan[0], "second": plan[1], "third": plan[2]}


def _plan_survives(scene: WindowScene, blanks: Blanks) -> int:
    """The number of moves made before the first that is blocked."""
    cell = scene.agent
    for made, direction in enumerate(blanks["plan"]):
        cell = step(cell, direction)
        if not scene.window.is_open(cell):
            return made
    return 3


MOVE_LEGAL = boolean("move_legal", "window", any_direction, _move_legal, LEGAL_WORDS)
FAMILIES = (
    MOVE_LEGAL,
    boolean("blocked_pair", "window", _two_directions, _both_blocked, _words("blocked_pair")),
    boolean("move_two_step", "window", _two_steps, _both_legal, _words("move_two_step")),
    boolean("onward", "window", _legal_step, _onward, _words("onward")),
    choice("cell_kind", "window", _other_cell, _cell_kind, _words("cell_kind")),
    choice("only_way", "window", near_cell, _only_way, _words("only_way")),
    choice("open_count", "window", near_cell, _open_count, _words("open_count"), shuffle=False),
    choice(
        "plan_survives",
        "window",
        _three_moves,
        _plan_survives,
        _words("plan_survives"),
        shuffle=False,
    ),
)
