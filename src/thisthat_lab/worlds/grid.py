"""Cells, directions and bearings on a square grid: rows increase south, columns east."""

from __future__ import annotations

from typing import Literal, TypeAlias

Cell: TypeAlias = tuple[int, int]
Direction: TypeAlias = Literal["north", "east", "south", "west"]

DIRECTIONS: tuple[Direction, ...] = ("north", "east", "south", "west")
STEPS: dict[Direction, Cell] = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}
OPPOSITE = dict(zip(DIRECTIONS, DIRECTIONS[2:] + DIRECTIONS[:2], strict=True))
BEARINGS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
_SIGNS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


def step(cell: Cell, direction: Direction) -> Cell:
    """The cell one step away."""
    rows, columns = STEPS[direction]
    return cell[0] + rows, cell[1] + columns


def bearing(origin: Cell, other: Cell) -> int:
    """The index in BEARINGS of ``other`` seen from ``origin``; raises ValueError for one cell.

    Only the signs count: anything both north and east is northeast.
    """
    rows, columns = other[0] - origin[0], other[1] - origin[1]
    signs = ((rows > 0) - (rows < 0), (columns > 0) - (columns < 0))
    if signs == (0, 0):
        raise ValueError("a cell has no bearing from itself")
    return _SIGNS.index(signs)
