"""Are two given steps both legal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, OPPOSITE, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """Two steps that do not undo each other."""
    first = rng.choice(DIRECTIONS)
    second = rng.choice([direction for direction in DIRECTIONS if direction != OPPOSITE[first]])
    return {"first": first, "second": second}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether both destinations are open."""
    middle = step(scene.agent, blanks["first"])
    is_open = scene.window.is_open
    return is_open(middle) and is_open(step(middle, blanks["second"]))


FAMILY = boolean("move_two_step", "window", fill, truth, words_of(__file__))
