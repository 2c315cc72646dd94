"""Is one step legal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds.grid import DIRECTIONS, step

# The recorded cohort's own wording and descriptions are not among these: it is measured only.
WORDS = words_of(__file__)


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """A direction to try."""
    return direction_blanks(rng.choice(DIRECTIONS))


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the destination is open."""
    return scene.window.is_open(step(scene.agent, blanks["direction"]))


FAMILY = boolean("move_legal", "window", fill, truth, WORDS)
