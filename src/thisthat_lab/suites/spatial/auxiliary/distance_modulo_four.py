"""What remains of the path length when it is divided by four?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Nothing to choose: the scene has one agent and one goal."""
    return {}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The remainder."""
    return scene.distance % 4


FAMILY = choice("distance_modulo_four", "map", fill, truth, words_of(__file__), shuffle=False)
