"""How long exactly is the shortest path, among numbers close to it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.suites.spatial.words import candidates


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Five neighbouring numbers, one of them the distance."""
    return candidates(rng, scene.distance, 5, least=1)


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """Where the distance stands among the numbers."""
    return int(blanks["numbers"].index(scene.distance))


FAMILY = choice("close_distance", "map", fill, truth, words_of(__file__))
