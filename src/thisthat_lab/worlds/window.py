"""What an agent sees: the 5×5 cells around it, as wall, open or outside."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat_lab.worlds.grid import Cell
from thisthat_lab.worlds.maze import Maze

RADIUS = 2
SIDE = 2 * RADIUS + 1
KINDS = {"#": "wall", ".": "open", "X": "outside"}


@dataclass(frozen=True)
class Window:
    """The cells around ``agent``: five rows of ``#``, ``.``, ``X`` with ``A`` in the middle."""

    agent: Cell
    rows: tuple[str, ...]

    def at(self, cell: Cell) -> str:
        """``#``, ``.`` or ``X`` at a cell of the maze; raises ValueError outside the window."""
        row, column = cell[0] - self.agent[0] + RADIUS, cell[1] - self.agent[1] + RADIUS
        if not (0 <= row < SIDE and 0 <= column < SIDE):
            raise ValueError(f"{cell} is not in the window around {self.agent}")
        mark = self.rows[row][column]
        return "." if mark == "A" else mark

    def is_open(self, cell: Cell) -> bool:
        """True when the cell is inside the maze and no wall."""
        return self.at(cell) == "."

    @property
    def first(self) -> Cell:
        """The north-west corner."""
        return self.agent[0] - RADIUS, self.agent[1] - RADIUS

    @property
    def key(self) -> str:
        """What is shown, whatever the surface: coordinates and cells."""
        return f"window:{self.agent[0]},{self.agent[1]}:{''.join(self.rows)}"


def window_of(maze: Maze, agent: Cell) -> Window:
    """The window around an open cell of the maze."""
    size = maze.size
    row, column = agent
    outside = "X" * SIDE
    rows = []
    for at in range(row - RADIUS, row + RADIUS + 1):
        if not 0 <= at < size:
            rows.append(outside)
            continue
        left = max(0, RADIUS - column)
        right = max(0, column + RADIUS - (size - 1))
        text = maze.rows[at][column - RADIUS + left : column + RADIUS + 1 - right]
        rows.append("X" * left + text + "X" * right)
    middle = rows[RADIUS]
    rows[RADIUS] = middle[:RADIUS] + "A" + middle[RADIUS + 1 :]
    return Window(agent, tuple(rows))
