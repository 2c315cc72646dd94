"""What is the first move of the one shortest path to the goal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import DIRECTIONS


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None when there is more than one shortest path."""
    return {} if scene.field.unique_path(scene.agent) else None


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The index of the one move that starts a shortest path."""
    return DIRECTIONS.index(scene.field.nearer_moves(scene.agent)[0])


FAMILY = choice(
    "first_move",
    "map",
    fill,
    truth,
    wordings=(
        "There is one shortest path from the agent to the goal. What is its first move?",
        "Which way should the agent step first to reach the goal in the fewest moves?",
        "On the shortest route from A to G, which direction comes first?",
        "The agent takes the quickest way to the goal. Where does it go first?",
        "What is the first step of the shortest path to the goal?",
        "Which single move from the agent's cell lies on the shortest path to G?",
        "To get to the goal without a detour, the agent begins by moving in which direction?",
    ),
    names=(
        ("north", "east", "south", "west"),
        ("N", "E", "S", "W"),
        ("up (north)", "right (east)", "down (south)", "left (west)"),
        ("go north", "go east", "go south", "go west"),
    ),
    descriptions=("row minus one", "column plus one", "row plus one", "column minus one"),
)
