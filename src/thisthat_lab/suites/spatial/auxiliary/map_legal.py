"""Is one step of the agent legal on a whole map?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.families.move_legal import WORDS
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
    replace(WORDS, wordings=WORDS.wordings[:1] + WORDS.wordings[2:]),
)
