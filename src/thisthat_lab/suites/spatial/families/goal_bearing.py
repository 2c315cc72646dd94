"""In which compass direction is the goal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import bearing


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Nothing to choose: the scene has one agent and one goal."""
    return {}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The index of the goal's bearing."""
    return bearing(scene.agent, scene.goal)


FAMILY = choice("goal_bearing", "map", fill, truth, words_of(__file__))
