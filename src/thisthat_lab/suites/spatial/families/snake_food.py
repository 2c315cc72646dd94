"""In which compass direction is the food?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.worlds.grid import bearing


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any] | None:
    """Nothing to choose; None on a full board, which has no food."""
    return None if scene.snake.food is None else {"food": scene.snake.food}


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> int:
    """The index of the food's bearing."""
    return bearing(scene.snake.body[0], blanks["food"])


FAMILY = choice("snake_food", "snake", fill, truth, words_of(__file__))
