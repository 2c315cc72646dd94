"""Blanks that many wordings share: directions, cells and numbers to choose between."""

from __future__ import annotations

from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.scene import MapScene, Scene, WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, Cell, Direction

DELTAS = dict(zip(DIRECTIONS, ("row-1", "column+1", "row+1", "column-1"), strict=True))
_COUNTS = ("no", "one", "two")


def nothing(rng: Rng, scene: Scene) -> dict[str, Any]:
    """Nothing to choose: the scene says what is asked about."""
    return {}


def any_direction(rng: Rng, scene: WindowScene | MapScene) -> dict[str, Any]:
    """A direction to try."""
    return direction_blanks(rng.choice(DIRECTIONS))


def near_cell(rng: Rng, scene: WindowScene) -> dict[str, Any]:
    """A cell whose four neighbours are all in the window: the agent's or one beside it."""
    row, column = scene.agent
    cell = (row + rng.integer(-1, 1), column + rng.integer(-1, 1))
    return cell_blanks(cell, scene.agent)


def direction_blanks(direction: Direction) -> dict[str, Any]:
    """``{direction}`` and ``{delta}`` (row-1)."""
    return {"direction": direction, "delta": DELTAS[direction]}


def at_cell(cell: Cell) -> dict[str, Any]:
    """``{row}``, ``{column}`` and the cell itself."""
    return {"cell": cell, "row": cell[0], "column": cell[1]}


def cell_blanks(cell: Cell, agent: Cell) -> dict[str, Any]:
    """The cell's blanks and ``{relative}``: where it is from the agent."""
    return {**at_cell(cell), "relative": _relative(cell[0] - agent[0], cell[1] - agent[1])}


def _relative(rows: int, columns: int) -> str:
    parts = []
    if rows:
        parts.append(f"{_count(rows, 'row')} {'south' if rows > 0 else 'north'}")
    if columns:
        parts.append(f"{_count(columns, 'column')} {'east' if columns > 0 else 'west'}")
    return " and ".join(parts) + " of the agent" if parts else "where the agent is"


def _count(number: int, noun: str) -> str:
    many = abs(number)
    word = _COUNTS[many] if many < len(_COUNTS) else str(many)
    return f"{word} {noun}" + ("s" if many > 1 else "")


def candidates(rng: Rng, right: int, count: int, least: int = 0) -> dict[str, Any]:
    """``count`` numbers in a row, ``right`` among them, as ``{n0}``, ``{n1}``, … and a list."""
    first = max(least, right - rng.below(count))
    numbers = list(range(first, first + count))
    return {f"n{index}": number for index, number in enumerate(numbers)} | {"numbers": numbers}
