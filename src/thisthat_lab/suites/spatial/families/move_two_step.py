"""Are two given steps both legal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, OPPOSITE, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """Two steps that do not undo each other."""
    first = rng.choice(DIRECTIONS)
    second = rng.choice([way for way in DIRECTIONS if way != OPPOSITE[first]])
    return {"first": first, "second": second}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether both destinations are open."""
    middle = step(scene.agent, blanks["first"])
    is_open = scene.window.is_open
    return is_open(middle) and is_open(step(middle, blanks["second"]))


FAMILY = boolean(
    "move_two_step",
    "window",
    fill,
    truth,
    wordings=(
        "The agent attempts one cell {first}, then one cell {second}. Are both moves legal, each "
        "ending inside the maze and not on a wall?",
        "Can the agent go {first} and then {second}?",
        "Two steps, {first} first and {second} second: do both succeed?",
        "Is the route '{first}, {second}' free of walls and inside the maze?",
        "Starting where the agent stands, is a step {first} followed by a step {second} possible?",
        "Will neither of the moves {first}, then {second}, be stopped by a wall or the edge?",
        "The plan is {first} and after that {second}. Is it feasible?",
    ),
    negated=(
        "The agent attempts one cell {first}, then one cell {second}. Does at least one of the "
        "moves fail?",
        "Does the two-step route {first}, {second} hit a wall or leave the maze?",
        "Going {first} and then {second}: is one of the two steps blocked?",
        "Is the plan of a step {first} and a step {second} impossible?",
        "Would the agent be stopped while walking {first} and then {second}?",
        "Does a wall or the edge get in the way of {first} followed by {second}?",
    ),
    described=(
        ("At least one of the two moves is blocked.", "Both moves are legal."),
        ("the route is blocked", "the route is free"),
    ),
)
