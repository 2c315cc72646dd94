"""The other evaluation sets made from the simulators, each a list of items.

Local geometry, noisy actuator, distance bands, the held-out families, the context ladder and
distance asked two ways. All from evaluation mazes and from windows that hash to the evaluation
side, so no training state can occur in them; side 50 is in none of the training.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Case, SpatialFamily
from thisthat_lab.suites.spatial.balance import draw_balanced, even_buckets, interleave
from thisthat_lab.suites.spatial.families import actuator
from thisthat_lab.suites.spatial.families.maps import DISTANCE_BAND
from thisthat_lab.suites.spatial.families.windows import LEGAL_WORDS, MOVE_LEGAL, open_ways
from thisthat_lab.suites.spatial.held_out.mazes import PARITY
from thisthat_lab.suites.spatial.pool import EvaluationPool
from thisthat_lab.suites.spatial.registry import held_out_families
from thisthat_lab.suites.spatial.scene import (
    MapScene,
    Place,
    Scene,
    WindowScene,
    make_window_scene,
)
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds.actuator import EVALUATION_RELIABILITIES
from thisthat_lab.worlds.grid import DIRECTIONS, Cell, Direction
from thisthat_lab.worlds.oracle import distances_from

SIDES = (8, 16, 32, 50)
LADDER_SIDES = (32, 50, 80, 128, 200)
SPLIT = "evaluation"
SAFE_INTENTION = 0.95  # how often the intended move is drawn from the safe ones

LOCAL_QUESTION = (
    "If the agent attempts one cell {direction} ({delta}), will the destination be inside the maze "
    "and not a wall? Use the local map: '.' and 'A' are traversable, '#' is a wall, and 'X' is "
    "outside the maze."
)
LOCAL_OPTIONS = (
    "The destination of the one-cell {direction} attempt is a wall or outside the maze.",
    "The destination of the one-cell {direction} attempt is inside the maze and traversable.",
)
"""The recorded cohort's descriptions of no and yes; no training shows them."""


def local_geometry(states_per_side: int = 50) -> list[Item]:
    """Four one-step questions about every ASCII window; sides 8, 16, 32 and 50."""
    pool = EvaluationPool("local geometry", SIDES, states_per_side)
    rng = Rng("local geometry")
    return [
        _step_question(scene, direction, LOCAL_QUESTION, "local_geometry", described=True)
        for scene in _windows(pool, rng, states_per_side)
        for direction in DIRECTIONS
    ]


def noisy_actuator(states_per_side: int = 100) -> list[Item]:
    """One attempt at every reliability about every ASCII window; facts hold rho and q.

    The intended move is mostly a safe one, as a planner's would be, so yes is the commoner
    outcome. The answer is the outcome of one attempt.
    """
    pool = EvaluationPool("noisy actuator", SIDES, states_per_side)
    rng = Rng("noisy actuator")
    items = []
    for scene in _windows(pool, rng, states_per_side):
        safe = open_ways(scene, scene.agent)
        intended = rng.choice(safe if rng.chance(SAFE_INTENTION) else DIRECTIONS)
        for reliability in EVALUATION_RELIABILITIES:
            blanks = actuator.with_reliability(rng, intended, reliability)
            items.append(_item(actuator.FAMILY, Case(scene, blanks), rng, "noisy_actuator"))
    return items


def distance_bands(states_per_side: int = 100) -> list[Item]:
    """The band of the shortest path on whole maps of side 8, 16, 32 and 50."""
    pool = EvaluationPool("distance bands", SIDES, max(1, states_per_side // 4))
    rng = Rng("distance bands")
    return [
        _item(DISTANCE_BAND, Case(scene, {}), rng, "distance_bands")
        for scene in _maps(pool, rng, SIDES, states_per_side)
    ]


def held_out_family_items(per_family: int = 300) -> list[Item]:
    """The four held-out families, exactly balanced, on sides 8, 16 and 32.

    Raises ValueError when ``per_family`` cannot be shared equally among a family's answers.
    """
    sides = SIDES[:3]
    pool = EvaluationPool("held-out families", sides, 60)
    items: list[Item] = []
    for family in held_out_families().values():
        items.extend(_balanced(family, pool, sides, per_family))
    return items


def context_ladder(worlds_per_side: int = 12) -> list[Item]:
    """Four one-step questions about every world, from the whole map and from the window.

    Items of one world follow each other: four on the map, then the same four on the window.
    ``facts`` has ``world`` and ``arm`` ("whole" or "window").
    """
    pool = EvaluationPool("context ladder", LADDER_SIDES, max(1, worlds_per_side // 3))
    rng = Rng("context ladder")
    items = []
    world = 0
    for side in LADDER_SIDES:
        for _ in range(worlds_per_side):
            window = _next_window(pool, rng, side)
            whole = whole_map(window.place, window.agent)
            for arm, scene in (("whole", whole), ("window", window)):
                for direction in DIRECTIONS:
                    item = _step_question(
                        scene,
                        direction,
                        LEGAL_WORDS.wordings[0],
                        "context_ladder",
                        described=False,
                    )
                    items.append(replace(item, facts={**item.facts, "world": world, "arm": arm}))
            world += 1
    return items


def two_ways(mazes: int = 300) -> list[Item]:
    """Distance asked as a band and as a parity about each of ``mazes`` maps, in pairs.

    ``facts["pair"]`` is the same for the two questions about one maze.
    """
    sides = SIDES[:3]
    pool = EvaluationPool("two ways", sides, 60)
    rng = Rng("two ways")
    items = []
    for pair, scene in enumerate(_maps(pool, rng, sides, -(-mazes // len(sides)))):
        if pair == mazes:
            break
        for family in (DISTANCE_BAND, PARITY):
            item = _item(family, Case(scene, {}), rng, family.name)
            items.append(replace(item, facts={**item.facts, "pair": pair}))
    return items


def whole_map(place: Place, agent: Cell) -> MapScene:
    """The whole maze around ``agent``, with the maze's own goal, or its start where that is."""
    maze = place.maze
    goal = maze.goal if maze.goal != agent else maze.start
    return MapScene(place, agent, goal, distances_from(maze.grid, goal))


def _item(family: SpatialFamily[Any], case: Case[Any], rng: Rng, name: str) -> Item:
    return replace(family.item_for(case, rng, SPLIT), family=name)


def _step_question(
    scene: WindowScene | MapScene, direction: Direction, wording: str, name: str, described: bool
) -> Item:
    blanks = direction_blanks(direction)
    maze = scene.place.maze
    case = Case(_as_window(scene), blanks)
    no, yes = (text.format(**blanks) for text in LOCAL_OPTIONS)
    return Item(
        source="generated_spatial",
        family=name,
        kind="boolean",
        state=scene.state,
        question=wording.format(**blanks),
        options=(("no", no if described else None), ("yes", yes if described else None)),
        answer=MOVE_LEGAL.solve(case),
        split=SPLIT,
        facts={**scene.facts, "size": maze.size},
    )


def _as_window(scene: WindowScene | MapScene) -> WindowScene:
    if isinstance(scene, WindowScene):
        return scene
    return make_window_scene(scene.place, scene.agent, "ascii")


def _next_window(pool: EvaluationPool, rng: Rng, side: int) -> WindowScene:
    while True:
        scene = pool.window(rng, side, "ascii")
        if scene is not None:
            return scene


def _windows(pool: EvaluationPool, rng: Rng, per_side: int) -> Iterator[WindowScene]:
    seen: set[str] = set()
    for side in SIDES:
        found = 0
        while found < per_side:
            scene = _next_window(pool, rng, side)
            if scene.state not in seen:
                seen.add(scene.state)
                found += 1
                yield scene


def _maps(
    pool: EvaluationPool, rng: Rng, sides: tuple[int, ...], per_side: int
) -> Iterator[MapScene]:
    seen: set[str] = set()
    for _ in range(per_side):
        for side in sides:
            while True:
                scene = pool.map(rng, side)
                if scene is not None and scene.state not in seen:
                    break
            seen.add(scene.state)
            yield scene


def _balanced(
    family: SpatialFamily[Any], pool: EvaluationPool, sides: tuple[int, ...], count: int
) -> list[Item]:
    rng = Rng("held-out family", family.name)
    seen: set[str] = set()

    def scenes(_: frozenset[int | None]) -> Iterator[Scene]:
        while True:
            scene = pool.scene(family.scene_kind, rng, rng.choice(sides))
            if scene is not None and scene.state not in seen:
                yield scene

    drawn = []
    for one in draw_balanced(
        family, even_buckets(count, family.option_count or 1, None), scenes, rng
    ):
        seen.add(one.scene.state)
        drawn.append(one)
    return interleave(drawn, Rng("held-out order", family.name))
