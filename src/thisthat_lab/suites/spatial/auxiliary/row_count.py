"""How many cells of one row or column of the window are open?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import score, words_of
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


FAMILY = score("row_count", "window", fill, truth, words_of(__file__))
