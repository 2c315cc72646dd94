"""Is the length of the shortest path even or odd?"""

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
    """0 even, 1 odd."""
    return scene.distance % 2


FAMILY = choice("distance_parity", "map", fill, truth, words_of(__file__), held_out=True)
