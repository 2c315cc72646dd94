"""Evaluation scenes: a fixed pool of evaluation mazes and scenes drawn from it."""

from __future__ import annotations

from collections.abc import Sequence

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.scene import (
    MapScene,
    Place,
    Scene,
    SceneKind,
    SnakeScene,
    WindowScene,
    make_map_scene,
    make_place,
    make_window_scene,
)
from thisthat_lab.worlds.maze import TOPOLOGIES, Topology
from thisthat_lab.worlds.render.window import SURFACES, Surface
from thisthat_lab.worlds.snake import random_snake

SNAKE_SIDES = (6, 10)
_TRIES_PER_PLACE = 12


class EvaluationPool:
    """Mazes of the evaluation side, one per group, equally many of each side and topology.

    Small mazes have few groups, so their share of the pool can be smaller than asked for.
    """

    def __init__(self, name: str, sides: Sequence[int], places_per_kind: int) -> None:
        rng = Rng("evaluation pool", name)
        self._places: dict[tuple[int, Topology], list[Place]] = {}
        for side in sides:
            for topology in TOPOLOGIES:
                found: dict[str, Place] = {}
                for _ in range(_TRIES_PER_PLACE * places_per_kind):
                    place = make_place(side, rng.below(1 << 62), topology)
                    if place.side == "evaluation":
                        found.setdefault(place.group, place)
                    if len(found) == places_per_kind:
                        break
                if found:
                    self._places[side, topology] = list(found.values())

    def place(self, rng: Rng, side: int) -> Place:
        """Any maze of this side, every topology as likely."""
        kinds = [kind for kind in self._places if kind[0] == side]
        if not kinds:
            raise ValueError(f"the pool has no evaluation maze of side {side}")
        return rng.choice(self._places[rng.choice(kinds)])

    def window(self, rng: Rng, side: int, surface: Surface | None = None) -> WindowScene | None:
        """A window scene in the recorded wording; None when it is not for evaluation."""
        place = self.place(rng, side)
        agent = rng.choice(place.maze.open_cells)
        shown = rng.choice(SURFACES) if surface is None else surface
        scene = make_window_scene(place, agent, shown)
        return scene if scene.side == "evaluation" else None

    def map(self, rng: Rng, side: int) -> MapScene | None:
        """A whole-map scene in the recorded wording."""
        return make_map_scene(rng, self.place(rng, side))

    def scene(self, kind: SceneKind, rng: Rng, side: int) -> Scene | None:
        """A scene of any kind; a snake has a board of its own instead of ``side``."""
        if kind == "window":
            return self.window(rng, side)
        if kind == "map":
            return self.map(rng, side)
        size = rng.integer(*SNAKE_SIDES)
        scene = SnakeScene(random_snake(size, rng.integer(2, 2 * size), rng))
        return scene if scene.side == "evaluation" else None
