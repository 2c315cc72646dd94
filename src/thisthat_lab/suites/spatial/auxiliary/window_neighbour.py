"""What lies beside a named cell of the window, in a named direction?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import cell_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """A cell of the inner block and a direction from it."""
    row, column = scene.agent
    cell = (row + rng.integer(-1, 1), column + rng.integer(-1, 1))
    return {**cell_blanks(cell, scene.agent), "direction": rng.choice(DIRECTIONS)}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether that neighbour is open."""
    return scene.window.is_open(step(blanks["cell"], blanks["direction"]))


FAMILY = boolean("window_neighbour", "window", fill, truth, words_of(__file__))
