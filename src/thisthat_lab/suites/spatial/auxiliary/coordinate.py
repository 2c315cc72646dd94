"""In which row or column is the agent or the goal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
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


FAMILY = choice(
    "coordinate",
    "map",
    fill,
    truth,
    wordings=(
        "In which {axis} is the {who}, counted from zero?",
        "What is the {axis} number of the {who}?",
        "Read off the {axis} of {mark}. The first {axis} is number 0.",
        "Which {axis} holds the {who} ({mark})?",
        "Find {mark} on the map. What is its zero-based {axis}?",
        "The {who}'s {axis} is which of these?",
    ),
    names=(
        ("{n0}", "{n1}", "{n2}", "{n3}", "{n4}", "{n5}"),
        (
            "{axis} {n0}",
            "{axis} {n1}",
            "{axis} {n2}",
            "{axis} {n3}",
            "{axis} {n4}",
            "{axis} {n5}",
        ),
    ),
)
