"""What remains of the path length when it is divided by four?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Nothing to choose: the scene has one agent and one goal."""
    return {}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The remainder."""
    return scene.distance % 4


FAMILY = choice(
    "distance_modulo_four",
    "map",
    fill,
    truth,
    wordings=(
        "What is the length of the shortest path from the agent to the goal modulo 4?",
        "Divide the number of moves on the shortest path by 4. What is the remainder?",
        "Count the moves of the shortest path to the goal in groups of four. How many moves are "
        "left over after the last full group?",
        "Take the path distance between A and G. What is left over after removing as many "
        "fours as possible?",
        "By how much is the shortest-path length above the nearest multiple of 4 below or at it?",
        "Shortest path length mod 4: which value?",
    ),
    names=(
        ("0", "1", "2", "3"),
        ("remainder 0", "remainder 1", "remainder 2", "remainder 3"),
    ),
    shuffle=False,
)
