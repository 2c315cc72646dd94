"""In which compass direction is the goal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import BEARINGS, bearing

DESCRIPTIONS = (
    "smaller row, equal column",
    "smaller row, larger column",
    "equal row, larger column",
    "larger row, larger column",
    "larger row, equal column",
    "larger row, smaller column",
    "equal row, smaller column",
    "smaller row, smaller column",
)


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any]:
    """Nothing to choose: the scene has one agent and one goal."""
    return {}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """The index of the goal's bearing."""
    return bearing(scene.agent, scene.goal)


FAMILY = choice(
    "goal_bearing",
    "map",
    fill,
    truth,
    wordings=(
        "In which compass direction does the goal lie from the agent, as the crow flies? Anything "
        "both north and east counts as northeast, and so on.",
        "Seen from the agent, where is the goal? Diagonal names mean that both the row and the "
        "column differ.",
        "Which way would one look from A to see G, ignoring walls?",
        "Give the bearing of the goal relative to the agent. Use north, east, south or west only "
        "when the goal is exactly in that line.",
        "The goal's position compared with the agent's: which compass point fits?",
        "Comparing rows and columns only, in what direction from the agent is the goal?",
        "Where does G lie as seen from A on this map?",
    ),
    names=(
        BEARINGS,
        ("N", "NE", "E", "SE", "S", "SW", "W", "NW"),
        (
            "north",
            "north-east",
            "east",
            "south-east",
            "south",
            "south-west",
            "west",
            "north-west",
        ),
    ),
    descriptions=DESCRIPTIONS,
)
