"""Which of two legal moves leads to a cell nearer to the goal?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: MapScene) -> Mapping[str, Any] | None:
    """Two legal moves of which one shortens the way; None when there are no such two."""
    better = scene.field.nearer_moves(scene.agent)
    grid = scene.place.maze.grid
    worse = [w for w in DIRECTIONS if w not in better and grid.is_open(step(scene.agent, w))]
    if not better or not worse:
        return None
    first, second = rng.shuffled([rng.choice(better), rng.choice(worse)])
    return {"first": first, "second": second}


def truth(scene: MapScene, blanks: Mapping[str, Any]) -> int:
    """0 for the first move, 1 for the second."""
    ends = [scene.field.to(step(scene.agent, blanks[name])) for name in ("first", "second")]
    return int(ends[1] < ends[0])


FAMILY = choice("nearer_move", "map", fill, truth, words_of(__file__))
