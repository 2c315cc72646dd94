from __future__ import annotations

import hashlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat_lab.worlds.grid import DIRECTIONS, step
from thisthat_lab.worlds.maze import TOPOLOGIES, Maze, Topology, make_maze
from thisthat_lab.worlds.oracle import OpenGrid, distances_from

mazes = st.builds(make_maze, st.integers(5, 24), st.integers(0, 10**9), st.sampled_from(TOPOLOGIES))


def slow_distances(maze: Maze, origin: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Relaxation over a dictionary until nothing changes: slow, and nothing like the oracle."""
    distance = {origin: 0}
    changed = True
    while changed:
        changed = False
        for (row, column), far in list(distance.items()):
            for there in (
                (row - 1, column),
                (row, column + 1),
                (row + 1, column),
                (row, column - 1),
            ):
                inside = 0 <= there[0] < maze.size and 0 <= there[1] < maze.size
                if not inside or maze.rows[there[0]][there[1]] == "#":
                    continue
                if far + 1 < distance.get(there, 10**9):
                    distance[there] = far + 1
                    changed = True
    return distance


@settings(deadline=None, max_examples=60)
@given(mazes)
def test_every_open_cell_can_be_walked_to(maze: Maze) -> None:
    slow = slow_distances(maze, maze.start)
    assert sorted(slow) == maze.open_cells
    field = distances_from(maze.grid, maze.start)
    assert all(field.to(cell) == far for cell, far in slow.items())
    assert max(slow.values()) == slow[maze.goal]
    assert field.to((-1, 0)) == field.to((0, maze.size)) == -1


@settings(deadline=None, max_examples=60)
@given(mazes)
def test_trees_have_one_path_and_walls_around(maze: Maze) -> None:
    if maze.topology == "random_obstacle":
        return
    border = {0, maze.size - 1}
    assert not any(row in border or column in border for row, column in maze.open_cells)
    cells = len(maze.open_cells)
    edges = sum(maze.grid.is_open(step(c, d)) for c in maze.open_cells for d in DIRECTIONS) // 2
    if maze.topology == "loops":
        assert edges >= cells - 1
    else:
        assert edges == cells - 1
    side = (maze.size - 1) // 2
    assert sum(row % 2 == 1 and column % 2 == 1 for row, column in maze.open_cells) == side * side


def straight_share(topology: Topology) -> float:
    """Of the floor cells with two open neighbours, how many lie on a straight line."""
    kinds: Counter[bool] = Counter()
    for seed in range(10):
        maze = make_maze(33, seed, topology)
        for cell in maze.open_cells:
            if cell[0] % 2 and cell[1] % 2:
                ways = [d for d in DIRECTIONS if maze.grid.is_open(step(cell, d))]
                if len(ways) == 2:
                    kinds[{"north", "south"} == set(ways) or {"east", "west"} == set(ways)] += 1
    return kinds[True] / kinds.total()


def test_corridors_run_straight() -> None:
    assert straight_share("corridor") > 0.7 > 0.5 > straight_share("tree")


def test_loops_open_the_stated_share() -> None:
    for seed in range(40):
        maze = make_maze(17, seed, "loops")
        cells = len(maze.open_cells)
        opened = cells - (8 * 8 + 8 * 8 - 1)
        closed_before = 2 * 8 * 7 - (8 * 8 - 1)
        assert 0.11 < opened / closed_before < 0.31


def test_obstacles_have_the_stated_density() -> None:
    for seed in range(40):
        maze = make_maze(40, seed, "random_obstacle")
        # The largest component can lose cells to pockets, so only the upper share of floor is hard.
        assert 0.5 < len(maze.open_cells) / 1600 < 0.84


@pytest.mark.parametrize(
    ("topology", "digest"),
    [
        ("corridor", "ba8819b9eacea10a"),
        ("tree", "30679fd063c8ec90"),
        ("loops", "38db0ea5f8bacba8"),
        ("random_obstacle", "0f6790b49b683044"),
    ],
)
def test_same_maze_on_every_machine(topology: Topology, digest: str) -> None:
    text = "".join(
        "\n".join(maze.rows) + str((maze.start, maze.goal))
        for size in (5, 8, 31, 50)
        for seed in (0, 12345)
        for maze in [make_maze(size, seed, topology)]
    )
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


def test_bad_requests_name_the_field() -> None:
    with pytest.raises(InvalidInputError, match="size: is 4"):
        make_maze(4, 0, "tree")
    with pytest.raises(InvalidInputError, match="topology: is 'cave'"):
        make_maze(8, 0, "cave")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not an open cell"):
        distances_from(make_maze(8, 0, "tree").grid, (0, 0))


@settings(deadline=None, max_examples=40)
@given(mazes, st.integers(0, 10**6))
def test_unique_path_is_the_only_one(maze: Maze, pick: int) -> None:
    cell = maze.open_cells[pick % len(maze.open_cells)]
    field = distances_from(maze.grid, maze.goal)
    slow = slow_distances(maze, maze.goal)
    ways = {maze.goal: 1}
    for place in sorted(slow, key=slow.__getitem__)[1:]:
        ways[place] = sum(
            ways[there]
            for direction in DIRECTIONS
            if slow.get(there := step(place, direction), -1) == slow[place] - 1
        )
    path = field.unique_path(cell)
    assert (path is not None) == (ways[cell] == 1 and cell != maze.goal)
    if path is not None:
        for direction in path:
            cell = step(cell, direction)
            assert maze.grid.is_open(cell)
        assert cell == maze.goal


def test_unreachable_cells_have_no_path() -> None:
    grid = OpenGrid.from_rows((".#.", "##.", "..."))
    field = distances_from(grid, (0, 2))
    assert field.to((0, 0)) == -1
    assert field.unique_path((0, 0)) is None
    assert field.nearer_moves((0, 2)) == []
