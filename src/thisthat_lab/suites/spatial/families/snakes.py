"""Which moves a snake survives, and where its food is."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, boolean, choice, words_of
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds.grid import bearing


def _food(rng: Rng, scene: SnakeScene) -> Blanks | None:
    """Nothing to choose; None on a full board, which has no food."""
    return None if scene.snake.food is None else {"food": scene.snake.food}


def _food_bearing(scene: SnakeScene, blanks: Blanks) -> int:
    """The index of the food's bearing."""
    return bearing(scene.snake.body[0], blanks["food"])


def _move(rng: Rng, scene: SnakeScene) -> Blanks:
    """A move that is no reverse."""
    return direction_blanks(rng.choice(scene.snake.moves()))


def _survives(scene: SnakeScene, blanks: Blanks) -> bool:
    """Whether the move hits neither border nor body."""
    return scene.snake.survives(blanks["direction"])


FAMILIES = (
    choice("snake_food", "snake", _food, _food_bearing, words_of(__file__, "snake_food")),
    boolean("snake_safe", "snake", _move, _survives, words_of(__file__, "snake_safe")),
)
