"""Mazes: four ways to lay walls on a square, deterministic in (size, seed, topology)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from thisthat.errors import InvalidInputError
from thisthat.rng import Rng
from thisthat_lab.worlds.grid import Cell
from thisthat_lab.worlds.oracle import OpenGrid, distances_from

Topology: TypeAlias = Literal["corridor", "tree", "loops", "random_obstacle"]

TOPOLOGIES: tuple[Topology, ...] = ("corridor", "tree", "loops", "random_obstacle")
LEAST_SIZE = 5
KEEP_DIRECTION = 0.88
OPENED_SEPARATORS = (0.12, 0.30)
OBSTACLES = (0.20, 0.38)


@dataclass(frozen=True)
class Maze:
    """A square of walls (``#``) and floor (``.``)."""

    size: int
    seed: int
    topology: Topology
    rows: tuple[str, ...]

    @cached_property
    def grid(self) -> OpenGrid:
        """The walls as the oracle reads them."""
        return OpenGrid.from_rows(self.rows)

    @cached_property
    def open_cells(self) -> list[Cell]:
        """Every open cell in row-major order."""
        return self.grid.open_cells()

    # The two ends of a longest walk, searched when they are asked for: most mazes that are drawn
    # are put aside, and most others are seen through a window.

    @cached_property
    def start(self) -> Cell:
        """The cell farthest from the first open one."""
        grid = self.grid
        return distances_from(grid, grid.cell(grid.cells.index(1))).farthest()

    @cached_property
    def goal(self) -> Cell:
        """The cell farthest from the start."""
        return distances_from(self.grid, self.start).farthest()


def make_maze(size: int, seed: int, topology: Topology) -> Maze:
    """The maze of these three values, the same on every machine.

    Raises InvalidInputError for a size below 5 or an unknown topology.
    """
    if size < LEAST_SIZE:
        raise InvalidInputError("size", f"is {size}; a maze has a side of {LEAST_SIZE} or more")
    rng = Rng("maze", size, seed, topology)
    if topology == "random_obstacle":
        board = _obstacles(size, rng)
    elif topology in TOPOLOGIES:
        board = _spanning_tree(size, rng, KEEP_DIRECTION if topology == "corridor" else 0.0)
        if topology == "loops":
            _open_separators(board, size, rng)
    else:
        raise InvalidInputError("topology", f"is {topology!r}, not one of {TOPOLOGIES}")
    rows = tuple(board[row * size : (row + 1) * size].decode() for row in range(size))
    return Maze(size, seed, topology, rows)


def _spanning_tree(size: int, rng: Rng, keep_direction: float) -> bytearray:
    """A depth-first spanning tree on the odd cells; a walk goes straight on at the given rate."""
    board = bytearray(b"#" * (size * size))
    last = size - 2
    odd = (last + 1) // 2
    here = (2 * rng.below(odd) + 1) * size + 2 * rng.below(odd) + 1
    board[here] = 0x2E
    trail = [here]
    heading = 0
    while trail:
        here = trail[-1]
        row, column = divmod(here, size)
        ways = []
        if row > 2 and board[here - 2 * size] == 0x23:
            ways.append(-size)
        if column + 2 <= last and board[here + 2] == 0x23:
            ways.append(1)
        if row + 2 <= last and board[here + 2 * size] == 0x23:
            ways.append(size)
        if column > 2 and board[here - 2] == 0x23:
            ways.append(-1)
        if not ways:
            trail.pop()
            heading = 0
            continue
        if not (keep_direction and heading in ways and rng.chance(keep_direction)):
            heading = ways[0] if len(ways) == 1 else rng.choice(ways)
        board[here + heading] = board[here + 2 * heading] = 0x2E
        trail.append(here + 2 * heading)
    return board


def _open_separators(board: bytearray, size: int, rng: Rng) -> None:
    """Open 12 to 30 % of the walls that stand straight between two neighbouring odd cells."""
    last = size - 2
    closed = [
        place
        for row in range(1, last + 1)
        for column in range(1, last + 1)
        if (row + column) % 2 == 1
        and (row + 1 <= last or row % 2 == 1)
        and (column + 1 <= last or column % 2 == 1)
        and board[place := row * size + column] == 0x23
    ]
    low, high = OPENED_SEPARATORS
    share = low + (high - low) * rng.uniform()
    for place in rng.sample(closed, round(share * len(closed))):
        board[place] = 0x2E


def _obstacles(size: int, rng: Rng) -> bytearray:
    """Walls at random; everything outside the largest open component is walled up."""
    low, high = OBSTACLES
    while True:
        density = low + (high - low) * rng.uniform()
        walls = rng.uniforms(size * size) < density
        text = "".join("#" if wall else "." for wall in walls.tolist())
        rows = tuple(text[place : place + size] for place in range(0, size * size, size))
        grid = OpenGrid.from_rows(rows)
        largest = _largest_component(grid)
        if len(largest) >= size:
            kept = bytearray(b"#" * (size * size))
            for row, column in largest:
                kept[row * size + column] = 0x2E
            return kept


def _largest_component(grid: OpenGrid) -> list[Cell]:
    """The cells of the largest connected open component; the first of equals."""
    left = set(grid.open_cells())
    largest: list[Cell] = []
    for cell in grid.open_cells():
        if cell in left:
            component = distances_from(grid, cell).reached()
            left.difference_update(component)
            if len(component) > len(largest):
                largest = component
    return largest
