"""Which is the single open direction from a named cell, if there is exactly one?"""

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
    """The index of the only open direction, 4 for none, 5 for more than one."""
    directions = [
        index
        for index, direction in enumerate(DIRECTIONS)
        if scene.window.is_open(step(blanks["cell"], direction))
    ]
    if len(directions) == 1:
        return directions[0]
    return 5 if directions else 4


FAMILY = choice("only_way", "window", fill, truth, words_of(__file__))
