"""After a named step, can it go on to a cell it did not come from?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
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


FAMILY = boolean(
    "onward",
    "window",
    fill,
    truth,
    wordings=(
        "The agent moves one cell {direction}. From there, can it go on to an open cell other than "
        "the one it came from?",
        "After a step {direction}, is there a way on that does not lead straight back?",
        "Suppose the agent walks {direction} by one. Is a further step to a new cell possible?",
        "Once it has gone one cell {direction}, can the agent continue anywhere but back?",
        "Does the cell {direction} of the agent lead anywhere other than back to the agent?",
        "If the agent takes one step {direction}, will it have an onward move?",
        "Is the cell one step {direction} connected to an open cell the agent did not come from?",
    ),
    negated=(
        "Is the cell one step {direction} of the agent a dead end, with no way out but back?",
        "After moving one cell {direction}, would the agent have to turn back?",
        "Does a step {direction} lead into a dead end?",
        "Suppose the agent walks {direction} by one. Is going back its only move then?",
        "If the agent goes {direction}, is it stuck there except for returning?",
        "Is the only open neighbour of the cell to the {direction} the agent's own cell?",
    ),
    described=(
        ("The only move from there is back.", "There is another open cell to go on to."),
        ("dead end", "the way goes on"),
    ),
)
