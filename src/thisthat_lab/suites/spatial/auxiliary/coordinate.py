"""In which row or column is the agent or the goal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.suites.spatial.words import candidates


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Who, which axis, and six numbers of which one is right."""
    who, axis = rng.choice(("agent", "goal")), rng.choice(("row", "column"))
    mark = "A" if who == "agent" else "G"
    blanks = {"who": who, "axis": axis, "mark": mark}
    return blanks | candidates(rng, _right(scene, blanks), 6)


def _right(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    cell = scene.agent if blanks["who"] == "agent" else scene.goal
    return cell[0] if blanks["axis"] == "row" else cell[1]


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """Where the coordinate stands among the numbers."""
    return int(blanks["numbers"].index(_right(scene, blanks)))


FAMILY = choice("coordinate", "map", fill, truth, words_of(__file__))
