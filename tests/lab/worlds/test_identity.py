from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat_lab.worlds.identity import group_of, side_of_group, side_of_key
from thisthat_lab.worlds.maze import TOPOLOGIES, Maze, make_maze

mazes = st.builds(make_maze, st.integers(5, 20), st.integers(0, 10**9), st.sampled_from(TOPOLOGIES))


def turned(rows: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("".join(column) for column in zip(*rows[::-1], strict=True))


def mirrored(rows: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row[::-1] for row in rows)


@settings(deadline=None, max_examples=80)
@given(mazes)
def test_eight_symmetric_copies_are_one_group(maze: Maze) -> None:
    group = group_of(maze)
    rows = maze.rows
    for _ in range(4):
        rows = turned(rows)
        for copy in (rows, mirrored(rows)):
            assert group_of(replace(maze, rows=copy, seed=1)) == group


def test_another_layout_is_another_group() -> None:
    groups = {group_of(make_maze(16, seed, "tree")) for seed in range(200)}
    assert len(groups) == 200


def test_split_is_by_group_and_side_50_is_never_trained_on() -> None:
    sides = [side_of_group(group_of(make_maze(16, seed, "loops")), 16) for seed in range(600)]
    assert 0.13 < sides.count("evaluation") / 600 < 0.27
    for seed in range(50):
        assert side_of_group(group_of(make_maze(50, seed, "tree")), 50) == "evaluation"


def test_split_never_moves() -> None:
    assert [side_of_key(f"key {n}") for n in range(8)] == [
        "train",
        "evaluation",
        "evaluation",
        "train",
        "train",
        "train",
        "train",
        "evaluation",
    ]
