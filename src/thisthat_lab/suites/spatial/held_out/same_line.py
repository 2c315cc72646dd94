"""Are agent and goal in the same row, the same column or neither?"""

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
    """0 same row, 1 same column, 2 neither."""
    if scene.agent[0] == scene.goal[0]:
        return 0
    return 1 if scene.agent[1] == scene.goal[1] else 2


FAMILY = choice("same_line", "map", fill, truth, words_of(__file__), held_out=True)
