"""Is one step legal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, step

# The recorded cohort's own wording and descriptions are not among these: it is measured only.
WORDINGS = (
    "If the agent attempts one cell {direction} ({delta}), will the destination be inside the "
    "maze and not a wall?",
    "Can the agent move one step {direction}?",
    "Is the cell directly {direction} of the agent open?",
    "The agent wants to go {direction}. Is that a legal move?",
    "Would a single step to the {direction} succeed?",
    "Is there free floor immediately {direction} of where the agent stands?",
    "May the agent step {direction} ({delta}) without hitting a wall or leaving the maze?",
)
NEGATED = (
    "Is the agent's way {direction} blocked, by a wall or by the edge of the maze?",
    "If the agent attempts one cell {direction} ({delta}), will it hit a wall or leave the maze?",
    "Would a step {direction} fail?",
    "Is the neighbouring cell to the {direction} a wall or outside the maze?",
    "The agent is told to go {direction}. Should it refuse, because that cell cannot be entered?",
    "Does something stop the agent from moving {direction}?",
)
DESCRIBED = (
    ("The {direction} neighbour cannot be entered.", "The {direction} neighbour is free."),
    ("the step is blocked", "the step is possible"),
)


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """A direction to try."""
    return direction_blanks(rng.choice(DIRECTIONS))


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the destination is open."""
    return scene.window.is_open(step(scene.agent, blanks["direction"]))


FAMILY = boolean(
    "move_legal",
    "window",
    fill,
    truth,
    wordings=WORDINGS,
    negated=NEGATED,
    described=DESCRIBED,
)
