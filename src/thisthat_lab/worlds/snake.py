"""Snake on a square board: head-first body, no reverse moves, the tail vacates unless it eats.

The food generator is one stored 64-bit number, so a game read back from JSON goes on with the
same food.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.rng import GOLDEN, Rng, mix64
from thisthat_lab.worlds.grid import DIRECTIONS, Cell, Direction, step

_MASK = (1 << 64) - 1
LEAST_SIZE = 3


@dataclass(frozen=True)
class Snake:
    """One position. ``food`` is None only on a full board, which is a win."""

    size: int
    body: tuple[Cell, ...]
    food: Cell | None
    generator: int
    alive: bool = True

    @property
    def won(self) -> bool:
        """True when the body fills the board."""
        return len(self.body) == self.size * self.size

    @property
    def over(self) -> bool:
        """True when no further move can be made."""
        return self.won or not self.alive

    def moves(self) -> tuple[Direction, ...]:
        """The moves that may be tried: every direction but back onto the neck."""
        neck = self.body[1] if len(self.body) > 1 else None
        return tuple(d for d in DIRECTIONS if step(self.body[0], d) != neck)

    def survives(self, direction: Direction) -> bool:
        """Whether that move hits neither the border nor the body."""
        target = step(self.body[0], direction)
        if not (0 <= target[0] < self.size and 0 <= target[1] < self.size):
            return False
        return target not in (self.body if target == self.food else self.body[:-1])

    def move(self, direction: Direction) -> Snake:
        """The position after one move; raises InvalidInputError for a reverse or finished game."""
        if self.over:
            raise InvalidInputError("direction", "the game is over")
        if direction not in self.moves():
            raise InvalidInputError("direction", f"{direction} is a reverse move")
        if not self.survives(direction):
            return replace(self, alive=False)
        target = step(self.body[0], direction)
        if target != self.food:
            return replace(self, body=(target, *self.body[:-1]))
        return _with_food(self.size, (target, *self.body), self.generator)

    def as_dict(self) -> dict[str, Any]:
        """The position as JSON-ready data; the generator is hex text, whole in any parser."""
        return {
            "size": self.size,
            "body": [list(cell) for cell in self.body],
            "food": None if self.food is None else list(self.food),
            "generator": f"{self.generator:016x}",
            "alive": self.alive,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Snake:
        """Read a position back; raises InvalidInputError for a field that is missing or wrong."""
        try:
            body = tuple((int(row), int(column)) for row, column in data["body"])
            food = None if data["food"] is None else (int(data["food"][0]), int(data["food"][1]))
            snake = cls(int(data["size"]), body, food, int(data["generator"], 16), data["alive"])
        except KeyError as error:
            raise InvalidInputError(str(error.args[0]), "is missing") from None
        except (TypeError, ValueError, IndexError) as error:
            raise InvalidInputError("snake", f"cannot be read: {error}") from None
        _check(snake)
        return snake


def new_snake(size: int, body: tuple[Cell, ...], seed: int) -> Snake:
    """A position with the first food drawn; raises InvalidInputError for a broken body."""
    snake = _with_food(size, body, mix64(seed))
    _check(snake)
    return snake


def random_snake(size: int, length: int, rng: Rng) -> Snake:
    """A position whose body is a self-avoiding random walk of at most ``length`` cells."""
    cell = (rng.below(size), rng.below(size))
    body = [cell]
    while len(body) < length:
        ways = [
            there
            for direction in DIRECTIONS
            if 0 <= (there := step(body[-1], direction))[0] < size
            and 0 <= there[1] < size
            and there not in body
        ]
        if not ways:
            break
        body.append(rng.choice(ways))
    return new_snake(size, tuple(body), rng.raw())


def _with_food(size: int, body: tuple[Cell, ...], generator: int) -> Snake:
    taken = set(body)
    free = [(row, column) for row in range(size) for column in range(size)]
    free = [cell for cell in free if cell not in taken]
    if not free:
        return Snake(size, body, None, generator)
    generator = (generator + GOLDEN) & _MASK
    return Snake(size, body, free[(mix64(generator) * len(free)) >> 64], generator)


def _check(snake: Snake) -> None:
    if snake.size < LEAST_SIZE:
        raise InvalidInputError("size", f"is {snake.size}; a board has a side of 3 or more")
    if not snake.body or len(set(snake.body)) != len(snake.body):
        raise InvalidInputError("body", "must hold at least one cell and none twice")
    for row, column in snake.body:
        if not (0 <= row < snake.size and 0 <= column < snake.size):
            raise InvalidInputError("body", f"({row},{column}) is outside the board")
    for one, other in zip(snake.body, snake.body[1:], strict=False):
        if abs(one[0] - other[0]) + abs(one[1] - other[1]) != 1:
            raise InvalidInputError("body", f"{one} and {other} are not neighbours")
    if snake.food in snake.body or (snake.food is None) != snake.won:
        raise InvalidInputError("food", f"{snake.food} cannot be food here")
