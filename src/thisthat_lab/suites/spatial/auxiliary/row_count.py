"""How many cells of one row or column of the window are open?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import score
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.window import SIDE


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """A row or a column of the window."""
    axis = rng.choice(("row", "column"))
    place = rng.below(SIDE)
    top, left = scene.window.first
    return {"axis": axis, "place": place, "line": (top if axis == "row" else left) + place}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """The number of open cells; the agent's own counts."""
    rows = scene.window.rows
    place = blanks["place"]
    line = rows[place] if blanks["axis"] == "row" else "".join(row[place] for row in rows)
    return sum(mark in ".A" for mark in line)


FAMILY = score(
    "row_count",
    "window",
    fill,
    truth,
    wordings=(
        "How many of the five cells shown of {axis} {line} are open? The agent's own cell is open.",
        "Count the open cells in {axis} {line} as far as it is shown, the agent's included.",
        "In {axis} {line} of the window, how many cells can be entered?",
        "How open is {axis} {line} of what the agent sees?",
        "Of {axis} {line}, five cells are visible. How many are neither wall nor outside?",
        "What is the number of traversable cells visible in {axis} {line}?",
    ),
    levels=(
        ("none", "one", "two", "three", "four", "five"),
        ("0 of 5", "1 of 5", "2 of 5", "3 of 5", "4 of 5", "5 of 5"),
    ),
)
