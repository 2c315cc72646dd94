"""A whole maze with agent and goal as text, and back again. Style 0 is the recorded wording."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from thisthat_lab.worlds.grid import Cell

STYLES = 5


@dataclass(frozen=True)
class WholeMap:
    """What a whole-map text says: the wall rows, where the agent is and where it must go."""

    rows: tuple[str, ...]
    agent: Cell
    goal: Cell

    @property
    def size(self) -> int:
        """Cells per side."""
        return len(self.rows)

    def marked_rows(self) -> list[str]:
        """The rows with ``A``, ``G`` or ``@`` put in."""
        rows = list(self.rows)
        marks = [(self.agent, "@")] if self.agent == self.goal else []
        for (row, column), mark in marks or [(self.agent, "A"), (self.goal, "G")]:
            rows[row] = rows[row][:column] + mark + rows[row][column + 1 :]
        return rows


def render_map(whole: WholeMap, style: int = 0) -> str:
    """The map as text; raises IndexError for a style there is not."""
    return _WRITERS[style](whole)


def parse_map(text: str) -> WholeMap:
    """The map that some style was written from; raises ValueError for any other text."""
    found = re.search(r"(\d+)(?:x| by )\d+", text)
    if not found:
        raise ValueError("no size in the text")
    size = int(found[1])
    lines = [line[-size:] for line in text.split("\n")[-size:]]
    places = {
        mark: (row, line.index(mark))
        for row, line in enumerate(lines)
        for mark in "AG@"
        if mark in line
    }
    agent, goal = places.get("A", places.get("@")), places.get("G", places.get("@"))
    if agent is None or goal is None or any(len(line) != size for line in lines):
        raise ValueError("the text does not hold a square map with agent and goal")
    table = str.maketrans("AG@", "...")
    return WholeMap(tuple(line.translate(table) for line in lines), agent, goal)


def _recorded(whole: WholeMap) -> str:
    (row, column), (goal_row, goal_column), size = whole.agent, whole.goal, whole.size
    return (
        f"Maze {size}x{size}. Coordinates are zero-based (row,column). Agent=({row},{column}), "
        f"goal=({goal_row},{goal_column}).\n#=wall, .=free, A=agent, G=goal, @=agent at goal. "
        "Move one cell north/east/south/west; no diagonals or wraparound. Stop on the goal.\n"
        + "\n".join(whole.marked_rows())
    )


def _plain(whole: WholeMap) -> str:
    (row, column), (goal_row, goal_column), size = whole.agent, whole.goal, whole.size
    return (
        f"A {size} by {size} grid maze, north at the top. The walker A starts at row {row}, column "
        f"{column} and wants to reach G at row {goal_row}, column {goal_column} (both counted from "
        "zero). Walls are #, free cells are dots; steps go up, right, down or left.\n"
        + "\n".join(whole.marked_rows())
    )


def _numbered(whole: WholeMap) -> str:
    (row, column), (goal_row, goal_column), size = whole.agent, whole.goal, whole.size
    rows = [f"{index:>2} {line}" for index, line in enumerate(whole.marked_rows())]
    return (
        f"Map of {size}x{size} cells with numbered rows. Robot A at ({row},{column}), target G at "
        f"({goal_row},{goal_column}), as (row,column). '#' cannot be entered; '.' can. One move is "
        "one cell north, east, south or west.\n" + "\n".join(rows)
    )


def _unplaced(whole: WholeMap) -> str:
    size = whole.size
    return (
        f"Grid {size}x{size}; first row is row 0 (north), first column is column 0 (west). "
        "# wall, . floor, A agent, G goal, @ agent on the goal. Moves: one cell, four directions.\n"
        + "\n".join(whole.marked_rows())
    )


def _terse(whole: WholeMap) -> str:
    (row, column), (goal_row, goal_column), size = whole.agent, whole.goal, whole.size
    return f"{size}x{size} A=({row},{column}) G=({goal_row},{goal_column})\n" + "\n".join(
        whole.marked_rows()
    )


_WRITERS: tuple[Callable[[WholeMap], str], ...] = (_recorded, _plain, _numbered, _unplaced, _terse)
