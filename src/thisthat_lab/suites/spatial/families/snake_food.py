"""In which compass direction is the food?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.families import goal_bearing
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.worlds.grid import BEARINGS, bearing


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None on a full board, which has no food."""
    return None if scene.snake.food is None else {"food": scene.snake.food}


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> int:
    """The index of the food's bearing."""
    return bearing(scene.snake.body[0], blanks["food"])


FAMILY = choice(
    "snake_food",
    "snake",
    fill,
    truth,
    wordings=(
        "In which compass direction does the food lie from the snake's head? Anything both north "
        "and east counts as northeast, and so on.",
        "Seen from the head, where is the food? Diagonal names mean that both row and column "
        "differ.",
        "Which way from the snake's head is the food?",
        "Give the bearing of the food relative to the head, using a plain direction only when they "
        "share a line.",
        "Comparing rows and columns of head and food, in what direction is the food?",
        "Where should the snake look to see the food?",
        "The food's place compared with the head's: which compass point fits?",
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
    descriptions=goal_bearing.DESCRIPTIONS,
)
