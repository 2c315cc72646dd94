"""After a named step, can it go on to a cell it did not come from?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, OPPOSITE, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any] | None:
    """A legal step; None when the drawn one is not."""
    direction = rng.choice(DIRECTIONS)
    if not scene.window.is_open(step(scene.agent, direction)):
        return None
    return direction_blanks(direction)


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the cell reached has an open neighbour other than the agent's cell."""
    reached = step(scene.agent, blanks["direction"])
    back = OPPOSITE[blanks["direction"]]
    return any(scene.window.is_open(step(reached, way)) for way in DIRECTIONS if way != back)


FAMILY = boolean("onward", "window", fill, truth, words_of(__file__))
