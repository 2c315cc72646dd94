"""Where the goal of a whole map lies, how far it is, and which way leads there."""

from __future__ import annotations

from functools import partial

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, boolean, choice, words_of
from thisthat_lab.suites.spatial.scene import MapScene, band_of
from thisthat_lab.suites.spatial.words import nothing
from thisthat_lab.worlds.grid import DIRECTIONS, bearing

_words = partial(words_of, __file__)
MORE = (0, 1, 2, 4)
FEWER = (1, 2, 4, 8)


def _distance_band(scene: MapScene, blanks: Blanks) -> int:
    """The band of the distance."""
    return band_of(scene.distance)


def _one_path(rng: Rng, scene: MapScene) -> Blanks | None:
    """Nothing to choose; None when there is more than one shortest path."""
    return {} if scene.field.unique_path(scene.agent) else None


def _first_move(scene: MapScene, blanks: Blanks) -> int:
    """The index of the one move that starts a shortest path."""
    return DIRECTIONS.index(scene.field.nearer_moves(scene.agent)[0])


def _goal_bearing(scene: MapScene, blanks: Blanks) -> int:
    """The index of the goal's bearing."""
    return bearing(scene.agent, scene.goal)


def _moves(rng: Rng, scene: MapScene) -> Blanks | None:
    """A number of moves close to the distance, enough or not with equal chance."""
    distance = scene.distance
    if rng.chance(0.5):
        return {"k": distance + rng.choice(MORE)}
    shorter = [distance - less for less in FEWER if distance - less >= 1]
    return {"k": rng.choice(shorter)} if shorter else None


def _reachable_within(scene: MapScene, blanks: Blanks) -> bool:
    """Whether the distance is at most k."""
    return scene.distance <= int(blanks["k"])


DISTANCE_BAND = choice(
    "distance_band", "map", nothing, _distance_band, _words("distance_band"), shuffle=False
)
FAMILIES = (
    DISTANCE_BAND,
    choice("first_move", "map", _one_path, _first_move, _words("first_move")),
    choice("goal_bearing", "map", nothing, _goal_bearing, _words("goal_bearing")),
    boolean("reachable_within", "map", _moves, _reachable_within, _words("reachable_within")),
)
