"""How far apart are agent and goal when walls are ignored?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.suites.spatial.words import candidates


def crow_distance(scene: MapScene) -> int:
    """Rows apart plus columns apart."""
    return abs(scene.agent[0] - scene.goal[0]) + abs(scene.agent[1] - scene.goal[1])


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Five neighbouring numbers, one of them right."""
    return candidates(rng, crow_distance(scene), 5, least=1)


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """Where the right number stands."""
    return int(blanks["numbers"].index(crow_distance(scene)))


FAMILY = choice(
    "manhattan",
    "map",
    fill,
    truth,
    wordings=(
        "Ignoring walls, how many moves apart are the agent and the goal?",
        "What is the Manhattan distance between A and G?",
        "Add the difference of the rows and the difference of the columns of agent and goal. What "
        "is the sum?",
        "If every cell were open, how many moves would the agent need to reach the goal?",
        "With all walls removed, how long would the shortest path from A to G be?",
        "How many cells, counted along rows and columns only, is the goal from the agent?",
    ),
    names=(
        ("{n0}", "{n1}", "{n2}", "{n3}", "{n4}"),
        ("{n0} moves", "{n1} moves", "{n2} moves", "{n3} moves", "{n4} moves"),
    ),
)
