"""How long exactly is a short shortest path?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene

LONGEST = 10


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None when the path is long."""
    return {} if scene.distance <= LONGEST else None


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The distance, counted from 1."""
    return scene.distance - 1


FAMILY = choice("exact_distance", "map", fill, truth, words_of(__file__), shuffle=False)
