"""How far apart are agent and goal when walls are ignored?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
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


FAMILY = choice("manhattan", "map", fill, truth, words_of(__file__))
