"""An endless stream of spatial training items, cheap to split over processes.

Mazes of the evaluation side, windows and snakes that hash to it, and maps of side 50 never
appear; nor do the windows of the recorded cohort, nor held-out families. The noisy actuator's
answer is one attempt; whether its items carry q as their target is a setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.forms import verified
from thisthat_lab.suites.spatial.ask import SpatialFamily
from thisthat_lab.suites.spatial.evenness import Evenness
from thisthat_lab.suites.spatial.recorded import is_recorded
from thisthat_lab.suites.spatial.registry import (
    auxiliary_families,
    benchmark_families,
    training_families,
)
from thisthat_lab.suites.spatial.scene import (
    BANDS,
    Place,
    Scene,
    SceneKind,
    SnakeScene,
    WindowScene,
    make_map_scene,
    make_place,
    make_window_scene,
)
from thisthat_lab.worlds.identity import HELD_OUT_SIZE
from thisthat_lab.worlds.maze import LEAST_SIZE, TOPOLOGIES, Topology
from thisthat_lab.worlds.render import snake as snake_text
from thisthat_lab.worlds.render import whole_map, window
from thisthat_lab.worlds.snake import random_snake

_SCENE_TRIES: dict[SceneKind, int] = {"window": 40, "map": 12, "snake": 10}
_ANSWER_TRIES = 4
_PLACES = 24


def even_sides(low: int = LEAST_SIZE, high: int = 32) -> dict[int, float]:
    """Every side from ``low`` to ``high``, each as likely."""
    return dict.fromkeys(range(low, high + 1), 1.0)


def benchmark_sides() -> dict[int, float]:
    """Sides 8, 16 and 32 for two thirds of the mazes, every other side up to 31 for the rest."""
    return even_sides() | dict.fromkeys((8, 16, 32), 17.0)


@dataclass(frozen=True)
class TrainingSettings:
    """What the stream draws from.

    ``map_sides`` and ``window_sides`` weigh the maze sides of whole maps and of windows;
    ``most_distance`` keeps agent and goal near each other, for a curriculum; ``band_weights``
    says how likely each band of distance is in a maze that has it (few mazes have long walks).
    ``weights`` sets how often a family is asked (others: 1 for the benchmark's,
    ``auxiliary_weight`` for the rest; 0 leaves one out). ``questions_per_state`` items in a row
    share a state, of different families unless ``again`` is above 0: a family that was asked
    is that much less likely to be drawn for the same state once more.
    About ``scenes_per_maze`` scenes share a maze, not in a row.
    ``recorded_share`` of scenes are written in the recorded style, ``fixed_share`` of scenes ask
    in the benchmark's wording, ``verified_share`` of choices are asked as booleans.
    ``chances`` says what the noisy actuator teaches: what one attempt did, or its exact q.
    ``forbidden`` holds scene keys that must not be shown.
    """

    map_sides: Mapping[int, float] = field(default_factory=benchmark_sides)
    window_sides: Mapping[int, float] = field(default_factory=even_sides)
    topologies: tuple[Topology, ...] = TOPOLOGIES
    most_distance: int = BANDS[-1][1]
    weights: Mapping[str, float] = field(default_factory=dict)
    auxiliary_weight: float = 0.3
    questions_per_state: int = 1
    again: float = 0.0
    scenes_per_maze: int = 8
    band_weights: tuple[float, ...] = (1.0, 1.0, 2.0, 4.0, 8.0)
    recorded_share: float = 0.5
    fixed_share: float = 0.25
    verified_share: float = 0.05
    snake_sides: tuple[int, int] = (5, 12)
    chances: Literal["attempt", "exact"] = "attempt"
    forbidden: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for name in ("map_sides", "window_sides"):
            for side in getattr(self, name):
                if side < LEAST_SIZE or side == HELD_OUT_SIZE:
                    raise InvalidInputError(
                        name, f"has {side}; training sides are {LEAST_SIZE} or more and never 50"
                    )
        for name, least in (("questions_per_state", 1), ("scenes_per_maze", 1)):
            if getattr(self, name) < least:
                raise InvalidInputError(name, f"is {getattr(self, name)}; at least {least}")
        if not 0 <= self.again <= 1:
            raise InvalidInputError("again", f"is {self.again}; a share from 0 to 1")
        unknown = set(self.weights) - set(training_families())
        if unknown:
            raise InvalidInputError("weights", f"names no training family: {sorted(unknown)}")

    def family_weights(self) -> Mapping[str, float]:
        """The weight of every training family."""
        weights = dict.fromkeys(benchmark_families(), 1.0)
        weights |= dict.fromkeys(auxiliary_families(), self.auxiliary_weight)
        return {**weights, **self.weights}


def training_items(seed: int, settings: TrainingSettings | None = None) -> Iterator[Item]:
    """Items without end; another seed is another stream, so workers take seed, seed + 1, …"""
    settings = settings or TrainingSettings()
    rng = Rng("spatial training", seed)
    scenes = _SceneMaker(rng, settings)
    weights = settings.family_weights()
    names = [name for name in weights if weights[name] > 0]
    numbers = [weights[name] for name in names]
    families = training_families()
    evenness = Evenness()
    while True:
        family = families[rng.weighted(names, numbers)]
        found = _first_question(family, scenes, rng, evenness)
        if found:
            scene, item = found
            yield _finished(item, rng, settings)
            yield from _more_questions(scene, family, weights, rng, settings, evenness)


def _first_question(
    family: SpatialFamily[Any], scenes: _SceneMaker, rng: Rng, evenness: Evenness
) -> tuple[Scene, Item] | None:
    """A scene and a question about it; None when no scene gave an answer that is still wanted."""
    for _ in range(_SCENE_TRIES[family.scene_kind]):
        scene = scenes.make(family.scene_kind)
        case = family.draw(rng, scene) if scene else None
        if scene is not None and case is not None and evenness.take(family, case):
            return scene, family.item_for(case, rng, "train")
    return None


def ask_about(
    scene: Scene, family: SpatialFamily[Any], rng: Rng, evenness: Evenness
) -> Item | None:
    """One item of the family about a given scene.

    None when the scene admits no such question, or none whose answer is still wanted.
    """
    for _ in range(_ANSWER_TRIES):
        case = family.draw(rng, scene)
        if case is not None and evenness.take(family, case):
            return family.item_for(case, rng, "train")
    return None


def _more_questions(
    scene: Scene,
    asked: SpatialFamily[Any],
    weights: Mapping[str, float],
    rng: Rng,
    settings: TrainingSettings,
    evenness: Evenness,
) -> Iterator[Item]:
    """Further questions about the same scene, rarely or never of a family asked before."""
    left = {
        family.name: weights[family.name]
        for family in training_families().values()
        if family.scene_kind == asked.scene_kind and weights[family.name] > 0
    }
    left[asked.name] *= settings.again
    for _ in range(settings.questions_per_state - 1):
        names = [name for name, weight in left.items() if weight > 0]
        if not names:
            return
        name = rng.weighted(names, [left[name] for name in names])
        left[name] *= settings.again
        item = ask_about(scene, training_families()[name], rng, evenness)
        if item:
            yield _finished(item, rng, settings)


def _finished(item: Item, rng: Rng, settings: TrainingSettings) -> Item:
    """The item as it is learned: some choices as booleans, chances exact where they are to be."""
    if settings.chances == "exact" and "q" in item.facts:
        return replace(item, target=(1 - item.facts["q"], item.facts["q"]))
    if item.kind == "choice" and rng.chance(settings.verified_share):
        return verified(item, rng) or item
    return item


class _SceneMaker:
    """Draws scenes from a handful of mazes, each kept for a few scenes."""

    def __init__(self, rng: Rng, settings: TrainingSettings) -> None:
        self._rng = rng
        self._settings = settings
        self._places: dict[SceneKind, list[Place]] = {"map": [], "window": []}

    def make(self, kind: SceneKind) -> Scene | None:
        """A scene for training; None when the one drawn belongs to evaluation."""
        scene = self._draw(kind)
        if scene is None or scene.side != "train" or scene.key in self._settings.forbidden:
            return None
        if isinstance(scene, WindowScene) and is_recorded(scene.window):
            return None
        return scene

    def _draw(self, kind: SceneKind) -> Scene | None:
        rng, settings = self._rng, self._settings
        fixed = rng.chance(settings.fixed_share)
        recorded = rng.chance(settings.recorded_share)
        if kind == "snake":
            size = rng.integer(*settings.snake_sides)
            snake = random_snake(size, rng.integer(1, 2 * size), rng)
            return SnakeScene(snake, 0 if recorded else rng.below(snake_text.STYLES), fixed)
        place = self._place(kind)
        if kind == "map":
            style = 0 if recorded else rng.below(whole_map.STYLES)
            return make_map_scene(
                rng, place, style, fixed, settings.band_weights, settings.most_distance
            )
        style = 0 if recorded else rng.below(window.STYLES)
        agent = rng.choice(place.maze.open_cells)
        return make_window_scene(place, agent, rng.choice(window.SURFACES), style, fixed)

    def _place(self, kind: SceneKind) -> Place:
        rng, places = self._rng, self._places[kind]
        if len(places) < _PLACES:
            places.append(self._new_place(kind))
            return places[-1]
        slot = rng.below(_PLACES)
        if rng.below(self._settings.scenes_per_maze) == 0:
            places[slot] = self._new_place(kind)
        return places[slot]

    def _new_place(self, kind: SceneKind) -> Place:
        rng, settings = self._rng, self._settings
        sides = settings.map_sides if kind == "map" else settings.window_sides
        while True:
            size = rng.weighted(list(sides), list(sides.values()))
            place = make_place(size, rng.below(1 << 62), rng.choice(settings.topologies))
            if place.side == "train":
                return place


def shown_keys(states: Iterable[str]) -> frozenset[str]:
    """The scene keys of window texts from elsewhere, to put into ``forbidden``.

    Texts that are no windows are passed over: whole maps are kept apart by their group.
    """
    keys = set()
    for state in states:
        try:
            keys.add(window.parse_window(state).key)
        except (ValueError, KeyError, IndexError, TypeError):
            continue
    return frozenset(keys)
