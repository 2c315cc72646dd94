"""Is one step of the agent legal on a whole map?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.families import move_legal
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """A direction to try."""
    return direction_blanks(rng.choice(DIRECTIONS))


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the destination is open."""
    return scene.place.maze.grid.is_open(step(scene.agent, blanks["direction"]))


FAMILY = boolean(
    "map_legal",
    "map",
    fill,
    truth,
    wordings=move_legal.WORDINGS[:1] + move_legal.WORDINGS[2:],
    negated=move_legal.NEGATED,
    described=move_legal.DESCRIBED,
)
