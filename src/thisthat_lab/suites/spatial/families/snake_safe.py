"""Does the snake survive a named move?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import SnakeScene
from thisthat_lab.suites.spatial.words import direction_blanks


def fill(rng: Rng, scene: SnakeScene) -> Mapping[str, Any]:
    """A move that is no reverse."""
    return direction_blanks(rng.choice(scene.snake.moves()))


def truth(scene: SnakeScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the move hits neither border nor body."""
    return scene.snake.survives(blanks["direction"])


FAMILY = boolean(
    "snake_safe",
    "snake",
    fill,
    truth,
    wordings=(
        "If the snake moves one cell {direction}, does it survive?",
        "Is moving {direction} safe for the snake?",
        "The snake's next move is {direction}. Will it stay alive?",
        "Can the head go one cell {direction} without hitting the border or the body?",
        "Would a step {direction} keep the game going?",
        "Is {direction} ({delta}) a move the snake lives through?",
        "The head turns {direction}. Does it reach a free cell, or one the tail is leaving?",
    ),
    negated=(
        "If the snake moves one cell {direction}, does it die?",
        "Is moving {direction} fatal for the snake?",
        "Would a step {direction} end the game in a crash?",
        "Does the head hit the border or the body when it goes {direction}?",
        "The snake's next move is {direction}. Is that a losing move?",
        "Must the snake avoid {direction} to stay alive?",
    ),
    described=(
        ("The head leaves the board or runs into the body.", "The head enters a free cell."),
        ("the move is fatal", "the move is safe"),
    ),
)
