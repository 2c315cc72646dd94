"""What is the first move of the one shortest path to the goal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import DIRECTIONS


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None when there is more than one shortest path."""
    return {} if scene.field.unique_path(scene.agent) else None


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The index of the one move that starts a shortest path."""
    return DIRECTIONS.index(scene.field.nearer_moves(scene.agent)[0])


FAMILY = choice("first_move", "map", fill, truth, words_of(__file__))
