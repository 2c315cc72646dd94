"""A whole maze with agent and goal as text, and back again. Style 0 is the recorded wording."""

from __future__ import annotations

import re
from dataclasses import dataclass

from thisthat_lab.tables import Tables
from thisthat_lab.worlds.grid import Cell

_STYLES = Tables(__file__).words("styles")
STYLES = len(_STYLES)


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
    form, rows = _STYLES[style], whole.marked_rows()
    if "{numbered}" in form:
        rows = [f"{index:>2} {line}" for index, line in enumerate(rows)]
    (row, column), (goal_row, goal_column), shown = whole.agent, whole.goal, "\n".join(rows)
    return form.format(
        size=whole.size,
        row=row,
        column=column,
        goal_row=goal_row,
        goal_column=goal_column,
        rows=shown,
        numbered=shown,
    )


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
