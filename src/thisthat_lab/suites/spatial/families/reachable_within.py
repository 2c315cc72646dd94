"""Can the goal be reached within k moves?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
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


FAMILY = boolean("reachable_within", "map", fill, truth, words_of(__file__))
