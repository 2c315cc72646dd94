"""What is at a named cell: wall, open or outside?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import cell_blanks
from thisthat_lab.worlds.window import RADIUS

ORDER = "#.X"


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any] | None:
    """A cell of the window that is not the agent's."""
    rows, columns = rng.integer(-RADIUS, RADIUS), rng.integer(-RADIUS, RADIUS)
    if rows == columns == 0:
        return None
    row, column = scene.agent
    return cell_blanks((row + rows, column + columns), scene.agent)


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """0 wall, 1 open, 2 outside."""
    return ORDER.index(scene.window.at(blanks["cell"]))


FAMILY = choice("cell_kind", "window", fill, truth, words_of(__file__))
