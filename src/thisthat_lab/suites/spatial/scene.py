"""What a spatial question is asked about: a window, a whole map or a snake, written one way.

A scene knows its world and the text it is shown as, so that several questions can share it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from thisthat.rng import Rng
from thisthat_lab.worlds.grid import Cell
from thisthat_lab.worlds.identity import Side, group_of, side_of_group, side_of_key
from thisthat_lab.worlds.maze import Maze, Topology, make_maze
from thisthat_lab.worlds.oracle import DistanceField, distances_from
from thisthat_lab.worlds.render.snake import render_snake
from thisthat_lab.worlds.render.whole_map import WholeMap, render_map
from thisthat_lab.worlds.render.window import Surface, render_window
from thisthat_lab.worlds.snake import Snake
from thisthat_lab.worlds.window import Window, window_of

SceneKind: TypeAlias = Literal["window", "map", "snake"]

BANDS: tuple[tuple[int, int], ...] = ((1, 4), (5, 16), (17, 64), (65, 256), (257, 10**9))
EVEN_BANDS = (1.0,) * len(BANDS)


@dataclass(frozen=True)
class Place:
    """A maze and the name of its group, computed once for all scenes in it."""

    maze: Maze
    group: str

    @cached_property
    def side(self) -> Side:
        """The side of the split that this maze is on."""
        return side_of_group(self.group, self.maze.size)

    def facts(self, surface: str, style: int) -> dict[str, Any]:
        """What is known of every scene in it beside the text."""
        shown = {"surface": surface, "style": style, "group": self.group}
        return {"size": self.maze.size, "topology": self.maze.topology, **shown}


def make_place(size: int, seed: int, topology: Topology) -> Place:
    """The maze of these values with its group."""
    maze = make_maze(size, seed, topology)
    return Place(maze, group_of(maze))


@dataclass(frozen=True)
class WindowScene:
    """The 5×5 cells around an agent. ``style`` 0 is the recorded wording.

    ``fixed`` asks for the benchmark's own wording of questions instead of a drawn one.
    """

    place: Place
    window: Window
    surface: Surface
    style: int = 0
    fixed: bool = True

    @property
    def agent(self) -> Cell:
        """Where the agent stands."""
        return self.window.agent

    @cached_property
    def state(self) -> str:
        """The text a model reads."""
        return render_window(self.window, self.surface, self.style)

    @property
    def side(self) -> Side | None:
        """The side of the split; None when the maze is on one side and what is shown on the other.

        Two mazes can share a window, so both must agree.
        """
        side = self.place.side
        return side if side_of_key(self.window.key) == side else None

    @property
    def key(self) -> str:
        """What is shown, whatever the surface."""
        return self.window.key

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known beside the text."""
        return self.place.facts(self.surface, self.style)


@dataclass(frozen=True)
class MapScene:
    """A whole maze with an agent and a goal; ``style`` and ``fixed`` as for a window."""

    place: Place
    agent: Cell
    goal: Cell
    field: DistanceField
    style: int = 0
    fixed: bool = True

    @property
    def distance(self) -> int:
        """Moves on a shortest path from the agent to the goal."""
        return self.field.to(self.agent)

    @cached_property
    def state(self) -> str:
        """The text a model reads."""
        return render_map(WholeMap(self.place.maze.rows, self.agent, self.goal), self.style)

    @property
    def side(self) -> Side | None:
        """The side of the split."""
        return self.place.side

    @property
    def key(self) -> str:
        """What is shown, whatever the wording."""
        return f"map:{self.place.group}:{self.agent}:{self.goal}"

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known beside the text."""
        return {**self.place.facts("map", self.style), "distance": self.distance}


@dataclass(frozen=True)
class SnakeScene:
    """A snake position; ``style`` and ``fixed`` as for a window."""

    snake: Snake
    style: int = 0
    fixed: bool = True

    @cached_property
    def state(self) -> str:
        """The text a model reads."""
        return render_snake(self.snake, self.style)

    @property
    def key(self) -> str:
        """What is shown, whatever the wording."""
        return f"snake:{self.snake.size}:{self.snake.body}:{self.snake.food}"

    @property
    def side(self) -> Side | None:
        """The side of the split."""
        return side_of_key(self.key)

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is known beside the text."""
        return {"size": self.snake.size, "surface": "snake", "style": self.style}


Scene: TypeAlias = "WindowScene | MapScene | SnakeScene"


def band_of(distance: int) -> int:
    """The index in BANDS of a distance of at least 1."""
    for index, (low, high) in enumerate(BANDS):
        if low <= distance <= high:
            return index
    raise ValueError(f"{distance} is in no band")


def make_window_scene(
    place: Place, agent: Cell, surface: Surface, style: int = 0, fixed: bool = True
) -> WindowScene:
    """The scene around one open cell."""
    return WindowScene(place, window_of(place.maze, agent), surface, style, fixed)


def make_map_scene(
    rng: Rng,
    place: Place,
    style: int = 0,
    fixed: bool = True,
    band_weights: Sequence[float] = EVEN_BANDS,
    most: int = BANDS[-1][1],
) -> MapScene | None:
    """Agent and goal in a band of distance drawn by weight, at most ``most`` moves apart.

    The goal is an end of the maze's longest walk or any open cell. None when no cell fits.
    """
    maze = place.maze
    goal = rng.choice((maze.goal, maze.start, rng.choice(maze.open_cells)))
    field = distances_from(maze.grid, goal)
    lengths = [field.steps[index] for index in field.visited]
    ranges, weights = [], []
    for (low, high), weight in zip(BANDS, band_weights, strict=True):
        first, end = bisect_left(lengths, low), bisect_right(lengths, min(high, most))
        if first < end and weight > 0:
            ranges.append((first, end))
            weights.append(weight)
    if not ranges:
        return None
    first, end = rng.weighted(ranges, weights)
    agent = maze.grid.cell(field.visited[rng.integer(first, end - 1)])
    return MapScene(place, agent, goal, field, style, fixed)
