"""How many cells long is the snake?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.suites.spatial.words import candidates


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any]:
    """Five neighbouring numbers, one of them right."""
    return candidates(rng, len(scene.snake.body), 5, least=1)


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> int:
    """Where the length stands among the numbers."""
    return int(blanks["numbers"].index(len(scene.snake.body)))


FAMILY = choice(
    "snake_length",
    "snake",
    fill,
    truth,
    wordings=(
        "How many cells does the snake cover, head and tail included?",
        "How long is the snake?",
        "Count the cells of the snake's body from head to tail.",
        "What is the length of the snake in cells?",
        "How many cells of the board are taken by the snake?",
        "Which number of cells does the snake occupy?",
    ),
    names=(
        ("{n0}", "{n1}", "{n2}", "{n3}", "{n4}"),
        ("{n0} cells", "{n1} cells", "{n2} cells", "{n3} cells", "{n4} cells"),
    ),
)
