from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.rng import Rng
from thisthat_lab.worlds.maze import TOPOLOGIES, Maze, make_maze
from thisthat_lab.worlds.render import snake as snake_text
from thisthat_lab.worlds.render import whole_map, window
from thisthat_lab.worlds.snake import random_snake
from thisthat_lab.worlds.window import window_of

mazes = st.builds(make_maze, st.integers(5, 33), st.integers(0, 10**9), st.sampled_from(TOPOLOGIES))


def pick(cells: Sequence[tuple[int, int]], number: int) -> tuple[int, int]:
    return cells[number % len(cells)]


@settings(deadline=None, max_examples=100)
@given(mazes, st.integers(0, 10**6))
def test_every_window_surface_parses_back_to_the_cells(maze: Maze, number: int) -> None:
    agent = pick(maze.open_cells, number)
    shown = window_of(maze, agent)
    for row in range(agent[0] - 2, agent[0] + 3):
        for column in range(agent[1] - 2, agent[1] + 3):
            inside = 0 <= row < maze.size and 0 <= column < maze.size
            assert shown.at((row, column)) == (maze.rows[row][column] if inside else "X")
    for surface in window.SURFACES:
        texts = {window.render_window(shown, surface, style) for style in range(window.STYLES)}
        assert len(texts) == window.STYLES
        for text in texts:
            assert window.parse_window(text) == shown


@settings(deadline=None, max_examples=60)
@given(mazes, st.integers(0, 10**6), st.integers(0, 10**6))
def test_every_map_style_parses_back(maze: Maze, one: int, other: int) -> None:
    agent, goal = pick(maze.open_cells, one), pick(maze.open_cells, other)
    whole = whole_map.WholeMap(maze.rows, agent, goal)
    texts = {whole_map.render_map(whole, style) for style in range(whole_map.STYLES)}
    assert len(texts) == whole_map.STYLES
    for text in texts:
        assert whole_map.parse_map(text) == whole


@settings(deadline=None, max_examples=60)
@given(st.integers(3, 14), st.integers(1, 30), st.integers(0, 10**9))
def test_every_snake_style_parses_back(size: int, length: int, seed: int) -> None:
    snake = random_snake(size, length, Rng("render", seed))
    texts = {snake_text.render_snake(snake, style) for style in range(snake_text.STYLES)}
    assert len(texts) == snake_text.STYLES
    for text in texts:
        shown = snake_text.parse_snake(text)
        assert (shown.size, shown.body, shown.food) == (snake.size, snake.body, snake.food)


def test_recorded_wordings() -> None:
    maze = make_maze(8, 1, "tree")
    shown = window_of(maze, (1, 1))
    assert window.render_window(shown, "ascii") == (
        "Agent coordinate: (1,1); zero-based row and column. Rows increase south; columns increase "
        "east. The local window is centered on A. '#': wall; '.': open; 'A': agent; 'X': outside."
        "\nLocal map:\n" + "\n".join(shown.rows)
    )
    text = window.render_window(shown, "json")
    assert text.startswith("{")
    assert json.dumps(json.loads(text)) == text
    assert window.render_window(shown, "prose").startswith("The agent stands at row 1, column 1")
    whole = whole_map.WholeMap(maze.rows, (1, 1), (1, 1))
    assert whole_map.render_map(whole) == (
        "Maze 8x8. Coordinates are zero-based (row,column). Agent=(1,1), goal=(1,1).\n"
        "#=wall, .=free, A=agent, G=goal, @=agent at goal. Move one cell north/east/south/west; "
        "no diagonals or wraparound. Stop on the goal.\n" + "\n".join(whole.marked_rows())
    )
    assert whole.marked_rows()[1][1] == "@"
    snake = random_snake(6, 4, Rng("snake"))
    assert snake_text.render_snake(snake).startswith("Snake on a 6x6 board.")


@pytest.mark.parametrize("text", ["", "no\nmap", "Maze 3x3\n###\n#A#\n###", "The agent is here."])
def test_other_texts_are_refused(text: str) -> None:
    for parse in (window.parse_window, whole_map.parse_map, snake_text.parse_snake):
        with pytest.raises(ValueError):
            parse(text)
    with pytest.raises(IndexError):
        window.render_window(window_of(make_maze(8, 1, "tree"), (1, 1)), "ascii", 99)
