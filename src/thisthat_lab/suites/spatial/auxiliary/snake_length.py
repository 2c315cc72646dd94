"""How many cells long is the snake?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.suites.spatial.words import candidates


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any]:
    """Five neighbouring numbers, one of them right."""
    return candidates(rng, len(scene.snake.body), 5, least=1)


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> int:
    """Where the length stands among the numbers."""
    return int(blanks["numbers"].index(len(scene.snake.body)))


FAMILY = choice("snake_length", "snake", fill, truth, words_of(__file__))
