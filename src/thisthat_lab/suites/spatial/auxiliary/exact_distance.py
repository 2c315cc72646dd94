"""How long exactly is a short shortest path?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene

LONGEST = 10


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None when the path is long."""
    return {} if scene.distance <= LONGEST else None


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The distance, counted from 1."""
    return scene.distance - 1


FAMILY = choice(
    "exact_distance",
    "map",
    fill,
    truth,
    wordings=(
        "Exactly how many moves does the shortest path from the agent to the goal take?",
        "How many steps is G from A by the shortest path?",
        "What is the path distance between agent and goal?",
        "In how many moves, at the least, can the agent be on the goal?",
        "Count the moves of the quickest route from A to G.",
        "The agent walks to the goal without a detour. How many cells does it move?",
    ),
    names=(
        ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10"),
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    ),
    shuffle=False,
)
