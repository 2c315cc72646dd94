"""A snake position as text, and back again. Style 0 is the wording of the released benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from thisthat_lab.tables import Tables
from thisthat_lab.worlds.grid import Cell
from thisthat_lab.worlds.snake import Snake

STYLES = 4


@dataclass(frozen=True)
class ShownSnake:
    """What a snake text says: everything but the food generator."""

    size: int
    body: tuple[Cell, ...]
    food: Cell | None


def render_snake(snake: Snake, style: int = 0) -> str:
    """The position as text; raises IndexError for a style there is not."""
    return _WRITERS[style](snake)


def parse_snake(text: str) -> ShownSnake:
    """The position that some style was written from; raises ValueError for any other text."""
    if text.startswith("{"):
        data = json.loads(text)
        food = None if data["food"] is None else (data["food"][0], data["food"][1])
        return ShownSnake(data["size"], tuple((row, column) for row, column in data["body"]), food)
    size = re.search(r"(\d+)(?:x| by )\d+", text)
    body = re.search(r"[Hh]ead to tail: ((?:\(\d+,\d+\) ?)+)", text)
    found = re.search(r"[Ff]ood(?:=| at )\((\d+),(\d+)\)", text)
    if not size or not body:
        raise ValueError("the text does not hold a snake")
    cells = tuple((int(r), int(c)) for r, c in re.findall(r"\((\d+),(\d+)\)", body[1]))
    return ShownSnake(int(size[1]), cells, (int(found[1]), int(found[2])) if found else None)


def _cells(body: tuple[Cell, ...]) -> str:
    return " ".join(f"({row},{column})" for row, column in body)


def _board(snake: Snake) -> str:
    rows = [["."] * snake.size for _ in range(snake.size)]
    for row, column in snake.body[1:]:
        rows[row][column] = "o"
    if len(snake.body) > 1:
        rows[snake.body[-1][0]][snake.body[-1][1]] = "T"
    rows[snake.body[0][0]][snake.body[0][1]] = "H"
    if snake.food:
        rows[snake.food[0]][snake.food[1]] = "F"
    return "\n".join("".join(row) for row in rows)


def _write(form: str, snake: Snake) -> str:
    return form.format(
        size=snake.size,
        length=len(snake.body),
        head=_cells(snake.body[:1]),
        body=_cells(snake.body),
        food="none" if snake.food is None else _cells((snake.food,)),
        board=_board(snake),
    )


def _data(snake: Snake) -> str:
    shown = snake.as_dict()
    return json.dumps({"game": "snake", **{key: shown[key] for key in ("size", "body", "food")}})


_STYLES = Tables(__file__).words("styles")
_WRITERS: tuple[Callable[[Snake], str], ...] = (*(partial(_write, each) for each in _STYLES), _data)
