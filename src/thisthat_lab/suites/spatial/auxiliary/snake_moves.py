"""How many of the snake's moves are safe?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import score
from thisthat_lab.suites.spatial.scene import SnakeScene


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None for a snake of one cell, which has no way back."""
    return {} if len(scene.snake.body) > 1 else None


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> int:
    """The number of moves it survives, straight back not counted."""
    return sum(scene.snake.survives(way) for way in scene.snake.moves())


FAMILY = score(
    "snake_moves",
    "snake",
    fill,
    truth,
    wordings=(
        "Not counting straight back, how many of the snake's three moves are safe?",
        "How many of the moves ahead, left and right does the snake survive?",
        "Count the directions the head can take without dying; reversing is not allowed.",
        "How much room does the head have: how many of its three moves are not fatal?",
        "Of the three moves that do not reverse, how many lead to a free cell?",
        "How many safe moves has the snake now?",
    ),
    levels=(
        ("none", "one", "two", "all three"),
        ("trapped: no safe move", "one safe move", "two safe moves", "three safe moves"),
    ),
)
