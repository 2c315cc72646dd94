"""How many of the snake's moves are safe?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import score, words_of
from thisthat_lab.suites.spatial.scene import SnakeScene


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None for a snake of one cell, which has no way back."""
    return {} if len(scene.snake.body) > 1 else None


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> int:
    """The number of moves it survives, straight back not counted."""
    return sum(scene.snake.survives(direction) for direction in scene.snake.moves())


FAMILY = score("snake_moves", "snake", fill, truth, words_of(__file__))
