"""How long a snake is, and how many moves it survives."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, choice, score, words_of
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.suites.spatial.words import candidates


def _numbers(rng: Rng, scene: SnakeScene) -> Blanks:
    """Five neighbouring numbers, one of them right."""
    return candidates(rng, len(scene.snake.body), 5, least=1)


def _length(scene: SnakeScene, blanks: Blanks) -> int:
    """Where the length stands among the numbers."""
    return int(blanks["numbers"].index(len(scene.snake.body)))


def _nothing(rng: Rng, scene: SnakeScene) -> Blanks | None:
    """Nothing to choose; None for a snake of one cell, which has no way back."""
    return {} if len(scene.snake.body) > 1 else None


def _moves(scene: SnakeScene, blanks: Blanks) -> int:
    """The number of moves it survives, straight back not counted."""
    return sum(scene.snake.survives(direction) for direction in scene.snake.moves())


FAMILIES = (
    choice("snake_length", "snake", _numbers, _length, words_of(__file__, "snake_length")),
    score("snake_moves", "snake", _nothing, _moves, words_of(__file__, "snake_moves")),
)
