"""How long exactly is the shortest path, among numbers close to it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.suites.spatial.words import candidates


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Five neighbouring numbers, one of them the distance."""
    return candidates(rng, scene.distance, 5, least=1)


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """Where the distance stands among the numbers."""
    return int(blanks["numbers"].index(scene.distance))


FAMILY = choice(
    "close_distance",
    "map",
    fill,
    truth,
    wordings=(
        "Which of these is the number of moves on the shortest path from the agent to the goal?",
        "How many steps is the goal away by the shortest path?",
        "What is the length of the shortest route from A to G?",
        "Pick the exact path distance between agent and goal.",
        "How many moves does the quickest walk to the goal have?",
        "At the least, how many moves separate A from G?",
    ),
    names=(
        ("{n0}", "{n1}", "{n2}", "{n3}", "{n4}"),
        ("{n0} moves", "{n1} moves", "{n2} moves", "{n3} moves", "{n4} moves"),
    ),
)
