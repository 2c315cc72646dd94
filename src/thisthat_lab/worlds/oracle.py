"""Exact answers about walking: distances, reachability, the first move of the one shortest path.

Breadth-first search over a border-padded flat grid; independent of how a maze was made.
"""

from __future__ import annotations

from dataclasses import dataclass

from thisthat_lab.worlds.grid import DIRECTIONS, Cell, Direction

UNREACHED = -1
_OPEN = bytes(0 if byte == ord("#") else 1 for byte in range(256))


@dataclass(frozen=True)
class OpenGrid:
    """Which cells of a square can be walked: ``cells[(row + 1) * width + column + 1]``.

    A closed border one cell wide surrounds the square, so a neighbour never leaves the array.
    """

    size: int
    cells: bytes

    @property
    def width(self) -> int:
        """Cells per padded row."""
        return self.size + 2

    @classmethod
    def from_rows(cls, rows: tuple[str, ...]) -> OpenGrid:
        """From rows of text in which ``#`` is closed."""
        size = len(rows)
        border = bytes(size + 2)
        body = b"".join(b"\0" + row.encode().translate(_OPEN) + b"\0" for row in rows)
        return cls(size, border + body + border)

    def index(self, cell: Cell) -> int:
        """Where a cell of the square stands in ``cells``."""
        return (cell[0] + 1) * (self.size + 2) + cell[1] + 1

    def cell(self, index: int) -> Cell:
        """The cell at a place in ``cells``."""
        row, column = divmod(index, self.size + 2)
        return row - 1, column - 1

    def inside(self, cell: Cell) -> bool:
        """True for a cell of the square."""
        return 0 <= cell[0] < self.size and 0 <= cell[1] < self.size

    def is_open(self, cell: Cell) -> bool:
        """True for a cell inside the square that is not a wall."""
        return self.inside(cell) and self.cells[self.index(cell)] == 1

    def open_cells(self) -> list[Cell]:
        """Every open cell in row-major order."""
        width = self.width
        return [
            (row, column)
            for row in range(self.size)
            for column, value in enumerate(
                self.cells[(row + 1) * width + 1 : (row + 2) * width - 1]
            )
            if value
        ]


@dataclass(frozen=True)
class DistanceField:
    """Shortest-path lengths from one cell to every cell; UNREACHED where there is no path."""

    grid: OpenGrid
    origin: Cell
    steps: list[int]
    visited: list[int]

    def to(self, cell: Cell) -> int:
        """Moves from the origin to ``cell``; UNREACHED when none lead there."""
        return self.steps[self.grid.index(cell)] if self.grid.inside(cell) else UNREACHED

    def farthest(self) -> Cell:
        """The first cell in row-major order among those farthest away."""
        most = self.steps[self.visited[-1]]
        last = [index for index in self.visited if self.steps[index] == most]
        return self.grid.cell(min(last))

    def reached(self) -> list[Cell]:
        """Every cell with a path, nearest first."""
        return [self.grid.cell(index) for index in self.visited]

    def nearer_moves(self, cell: Cell) -> list[Direction]:
        """The moves from ``cell`` that start a shortest path to the origin."""
        here = self.grid.index(cell)
        wanted = self.steps[here] - 1
        if wanted < 0:
            return []
        width = self.grid.width
        offsets = (-width, 1, width, -1)
        return [
            direction
            for direction, offset in zip(DIRECTIONS, offsets, strict=True)
            if self.steps[here + offset] == wanted
        ]

    def unique_path(self, cell: Cell) -> list[Direction] | None:
        """The one shortest path from ``cell`` to the origin; None when there are more or none."""
        if self.to(cell) <= 0:
            return None
        path: list[Direction] = []
        width = self.grid.width
        offset = {"north": -width, "east": 1, "south": width, "west": -1}
        here = self.grid.index(cell)
        while self.steps[here] > 0:
            moves = self.nearer_moves(self.grid.cell(here))
            if len(moves) != 1:
                return None
            path.append(moves[0])
            here += offset[moves[0]]
        return path


def distances_from(grid: OpenGrid, origin: Cell) -> DistanceField:
    """Breadth-first search from an open cell; raises ValueError for a wall."""
    if not grid.is_open(origin):
        raise ValueError(f"{origin} is not an open cell")
    cells, width = grid.cells, grid.width
    start = grid.index(origin)
    steps = [UNREACHED] * len(cells)
    steps[start] = 0
    visited = [start]
    for here in visited:
        next_step = steps[here] + 1
        for there in (here - width, here + 1, here + width, here - 1):
            if cells[there] and steps[there] < 0:
                steps[there] = next_step
                visited.append(there)
    return DistanceField(grid, origin, steps, visited)
