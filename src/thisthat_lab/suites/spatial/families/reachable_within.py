"""Can the goal be reached within k moves?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import MapScene

MORE = (0, 1, 2, 4)
FEWER = (1, 2, 4, 8)


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """A number of moves close to the distance, enough or not with equal chance."""
    distance = scene.distance
    if rng.chance(0.5):
        return {"k": distance + rng.choice(MORE)}
    shorter = [distance - less for less in FEWER if distance - less >= 1]
    return {"k": rng.choice(shorter)} if shorter else None


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the distance is at most k."""
    return scene.distance <= int(blanks["k"])


FAMILY = boolean(
    "reachable_within",
    "map",
    fill,
    truth,
    wordings=(
        "Can the agent reach the goal in at most {k} moves?",
        "Is there a path from the agent to the goal of length {k} or less?",
        "The agent may make {k} moves. Is that enough to get to the goal?",
        "Is G no more than {k} steps from A by the shortest path?",
        "With a budget of {k} moves, does the agent make it to the goal?",
        "Would {k} steps suffice to walk from A to G?",
        "Is the shortest path to the goal at most {k} moves long?",
    ),
    negated=(
        "Does the agent need more than {k} moves to reach the goal?",
        "Is the goal more than {k} steps away by the shortest path?",
        "Are {k} moves too few to get from A to G?",
        "With a budget of {k} moves, does the agent fall short of the goal?",
        "Is every path from the agent to the goal longer than {k} moves?",
        "Would an agent limited to {k} steps fail to reach G?",
    ),
    described=(
        (
            "The shortest path has more than {k} moves.",
            "The shortest path has {k} moves or fewer.",
        ),
        ("too far for {k} moves", "within {k} moves"),
    ),
)
