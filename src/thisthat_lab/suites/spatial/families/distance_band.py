"""In which of five bands is the length of the shortest path?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene, band_of


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Nothing to choose: the scene has one agent and one goal."""
    return {}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The band of the distance."""
    return band_of(scene.distance)


FAMILY = choice("distance_band", "map", fill, truth, words_of(__file__), shuffle=False)
