"""In which of five bands is the length of the shortest path?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene, band_of


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Nothing to choose: the scene has one agent and one goal."""
    return {}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The band of the distance."""
    return band_of(scene.distance)


FAMILY = choice(
    "distance_band",
    "map",
    fill,
    truth,
    wordings=(
        "How many moves does the shortest path from the agent to the goal take?",
        "How long is the shortest way from A to G, in moves?",
        "In which range is the number of steps the agent needs at least to reach the goal?",
        "How far is the goal by the shortest path?",
        "What is the fewest number of moves from the agent's cell to the goal?",
        "Count the steps of the quickest route to the goal. Which range holds the count?",
        "Which band does the path distance between agent and goal fall into?",
    ),
    names=(
        ("1-4 moves", "5-16 moves", "17-64 moves", "65-256 moves", "257 or more moves"),
        ("1 to 4", "5 to 16", "17 to 64", "65 to 256", "257 or more"),
        (
            "at most 4 steps",
            "5 to 16 steps",
            "17 to 64 steps",
            "65 to 256 steps",
            "more than 256 steps",
        ),
    ),
    descriptions=("right beside it", "near", "some way off", "far", "very far"),
    shuffle=False,
)
