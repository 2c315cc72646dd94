"""The simulator sets in the words of this-that-model's published scripts, about our own worlds.

For that checkpoint alone: it is asked as its makers ask it. States, answers and splits are those of
``held_out_sets``, except that the noisy actuator is described below a whole map.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import cycle

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.spatial import held_out_sets
from thisthat_lab.suites.spatial.held_out_sets import LOCAL_QUESTION, SIDES, SPLIT, whole_map
from thisthat_lab.suites.spatial.pool import EvaluationPool
from thisthat_lab.worlds import actuator
from thisthat_lab.worlds.grid import DIRECTIONS, Direction, step

DELTAS = dict(zip(DIRECTIONS, ("row-1", "col+1", "row+1", "col-1"), strict=True))
NO_YES = (("no", None), ("yes", None))
LISTED: tuple[Direction, ...] = ("north", "south", "east", "west")
ACTUATOR_STATE = (
    "{map}\nActuator: execute {intended} with probability {rho:.8g}; otherwise choose uniformly "
    "among {others}."
)
ACTUATOR_QUESTION = (
    "Under the stated random actuator, will this one move be collision-free? The attempted move "
    "stays inside the maze and does not enter a wall."
)
DISTANCE_QUESTION = "How many moves remain on the shortest path from the agent to the goal?"
LEVELS = (
    "Already at the goal: zero moves remain.",
    "The shortest path requires 1 to 4 moves.",
    "The shortest path requires 5 to 16 moves.",
    "The shortest path requires 17 to 64 moves.",
    "The shortest path requires 65 to 256 moves.",
    "The shortest path requires 257 or more moves.",
    "The goal is unreachable from the agent.",
)


def local_geometry(states_per_side: int = 50) -> list[Item]:
    """Four one-step questions about every ASCII window."""
    return _steps(held_out_sets.local_geometry(states_per_side))


def context_ladder(worlds_per_side: int = 12) -> list[Item]:
    """The same four about every world, from the whole map and from the window."""
    return _steps(held_out_sets.context_ladder(worlds_per_side))


def distance_bands(states_per_side: int = 100) -> list[Item]:
    """The length of the shortest path as a score of seven levels, of which five occur."""
    options = tuple((str(level), text) for level, text in enumerate(LEVELS))
    return [
        replace(
            item,
            kind="score",
            question=DISTANCE_QUESTION,
            options=options,
            answer=item.answer + 1,
        )
        for item in held_out_sets.distance_bands(states_per_side)
    ]


def noisy_actuator(states_per_side: int = 100) -> list[Item]:
    """One attempt at every reliability about every map; facts hold rho and q.

    The intended moves are the legal ones in turn, in places with at least two of them.
    """
    pool = EvaluationPool("published actuator", SIDES, max(1, states_per_side // 4))
    rng = Rng("published actuator")
    items: list[Item] = []
    for side in SIDES:
        seen: set[str] = set()
        while len(seen) < states_per_side:
            place = pool.place(rng, side)
            scene = whole_map(place, rng.choice(place.maze.open_cells))
            opened = set(place.maze.open_cells)
            safe = [way for way in DIRECTIONS if step(scene.agent, way) in opened]
            if len(safe) < 2 or scene.state in seen:
                continue
            seen.add(scene.state)
            for turn, rho in enumerate(actuator.EVALUATION_RELIABILITIES):
                intended = safe[turn % len(safe)]
                others = ", ".join(way for way in LISTED if way != intended)
                q = actuator.collision_free_probability(rho, intended, safe)
                items.append(
                    Item(
                        source="generated_spatial",
                        family="noisy_actuator",
                        kind="boolean",
                        state=ACTUATOR_STATE.format(
                            map=scene.state, intended=intended, rho=rho, others=others
                        ),
                        question=ACTUATOR_QUESTION,
                        options=NO_YES,
                        answer=int(actuator.execute(rho, intended, rng) in safe),
                        split=SPLIT,
                        facts={**scene.facts, "rho": rho, "q": q},
                    )
                )
    return items


def _steps(items: Iterable[Item]) -> list[Item]:
    """One-step questions, which come in the order of ``DIRECTIONS``, in the published words."""
    return [
        replace(
            item,
            question=LOCAL_QUESTION.format(direction=direction, delta=DELTAS[direction]),
            options=NO_YES,
        )
        for item, direction in zip(items, cycle(DIRECTIONS), strict=False)
    ]
