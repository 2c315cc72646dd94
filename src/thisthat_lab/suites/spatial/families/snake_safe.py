"""Does the snake survive a named move?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.suites.spatial.words import direction_blanks


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any]:
    """A move that is no reverse."""
    return direction_blanks(rng.choice(scene.snake.moves()))


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the move hits neither border nor body."""
    return scene.snake.survives(blanks["direction"])


FAMILY = boolean("snake_safe", "snake", fill, truth, words_of(__file__))
