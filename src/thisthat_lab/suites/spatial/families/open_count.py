"""How many neighbours of a named cell are open?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import cell_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """A cell whose four neighbours are all in the window: the agent's or one beside it."""
    row, column = scene.agent
    cell = (row + rng.integer(-1, 1), column + rng.integer(-1, 1))
    return cell_blanks(cell, scene.agent)


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """The number of open neighbours; the agent's own cell is open."""
    return sum(scene.window.is_open(step(blanks["cell"], direction)) for direction in DIRECTIONS)


FAMILY = choice("open_count", "window", fill, truth, words_of(__file__), shuffle=False)
