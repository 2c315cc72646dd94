from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat.rng import Rng
from thisthat_lab.worlds.snake import Snake, new_snake, random_snake

snakes = st.builds(
    lambda size, length, seed: random_snake(size, length, Rng("test", seed)),
    st.integers(3, 10),
    st.integers(1, 30),
    st.integers(0, 10**9),
)


def play(snake: Snake, rng: Rng, moves: int) -> list[Snake]:
    seen = [snake]
    for _ in range(moves):
        if snake.over:
            break
        safe = [d for d in snake.moves() if snake.survives(d)]
        snake = snake.move(rng.choice(safe or snake.moves()))
        seen.append(snake)
    return seen


@settings(deadline=None, max_examples=100)
@given(snakes, st.integers(0, 100))
def test_json_round_trip_keeps_the_food_stream(snake: Snake, key: int) -> None:
    copy = Snake.from_dict(json.loads(json.dumps(snake.as_dict())))
    assert copy == snake
    assert play(copy, Rng(key), 40) == play(snake, Rng(key), 40)


@settings(deadline=None, max_examples=100)
@given(snakes, st.integers(0, 100))
def test_a_move_keeps_the_body_whole(snake: Snake, key: int) -> None:
    positions = play(snake, Rng(key), 40)
    for before, after in itertools.pairwise(positions):
        ate = after.alive and after.body[0] == before.food
        assert len(after.body) == len(before.body) + ate
        assert len(set(after.body)) == len(after.body)
        assert after.food not in after.body
        if after.alive:
            kept = before.body if ate else before.body[:-1]
            assert after.body[1:] == kept


def test_the_tail_vacates_unless_food_is_eaten() -> None:
    ring = ((0, 0), (0, 1), (1, 1), (1, 0))
    snake = Snake(3, ring, (2, 2), 1)
    assert snake.survives("south")
    assert snake.move("south").body == ((1, 0), (0, 0), (0, 1), (1, 1))
    assert not snake.survives("west")
    assert not snake.move("west").alive


def test_a_full_board_is_a_win() -> None:
    body = ((0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (1, 1))
    snake = Snake(3, body, (0, 0), 7)
    end = snake.move("west")
    assert end.won
    assert end.food is None
    assert Snake.from_dict(end.as_dict()) == end
    with pytest.raises(InvalidInputError, match="over"):
        end.move("west")


def test_no_reverse() -> None:
    snake = Snake(5, ((2, 2), (2, 1)), (0, 0), 1)
    assert snake.moves() == ("north", "east", "south")
    with pytest.raises(InvalidInputError, match="reverse"):
        snake.move("west")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"body": [[0, 0], [2, 2]]}, "body"),
        ({"body": []}, "body"),
        ({"body": [[0, 0], [0, 0]]}, "body"),
        ({"body": [[9, 9]]}, "body"),
        ({"food": [0, 0]}, "food"),
        ({"food": None}, "food"),
        ({"size": 2}, "size"),
        ({"generator": "zz"}, "snake"),
    ],
)
def test_broken_positions_are_refused(change: dict[str, object], field: str) -> None:
    good = new_snake(5, ((0, 0), (0, 1)), 3).as_dict()
    with pytest.raises(InvalidInputError) as caught:
        Snake.from_dict(good | change)
    assert caught.value.field == field
    del good["food"]
    with pytest.raises(InvalidInputError, match="food: is missing"):
        Snake.from_dict(good)
