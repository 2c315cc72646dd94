"""How many of three planned moves succeed before the first blocked one?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import choice
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, OPPOSITE, Direction, step
from thisthat_lab.worlds.window import RADIUS


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any] | None:
    """Three moves, none undoing the one before, all of whose cells are in the window."""
    plan: list[Direction] = [rng.choice(DIRECTIONS)]
    while len(plan) < 3:
        plan.append(rng.choice([way for way in DIRECTIONS if way != OPPOSITE[plan[-1]]]))
    cell = scene.agent
    for way in plan:
        cell = step(cell, way)
        if max(abs(cell[0] - scene.agent[0]), abs(cell[1] - scene.agent[1])) > RADIUS:
            return None
    return {"plan": tuple(plan), "first": plan[0], "second": plan[1], "third": plan[2]}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> int:
    """The number of moves made before the first that is blocked."""
    cell = scene.agent
    for made, way in enumerate(blanks["plan"]):
        cell = step(cell, way)
        if not scene.window.is_open(cell):
            return made
    return 3


FAMILY = choice(
    "plan_survives",
    "window",
    fill,
    truth,
    wordings=(
        "The agent follows the plan {first}, {second}, {third} and stops at the first move that "
        "would hit a wall or leave the maze. How many of the three moves succeed?",
        "Plan: {first}, then {second}, then {third}. The plan ends at the first blocked step. How "
        "many steps are made?",
        "How far does the agent get on the route {first}, {second}, {third} before it is blocked?",
        "The moves {first}, {second}, {third} are tried in order until one fails. How many work?",
        "Walking {first}, {second}, {third}, how many cells does the agent advance before a wall "
        "or the edge stops it for good?",
        "Of the planned steps {first}, {second} and {third}, counted up to the first failure, how "
        "many can be carried out?",
        "A robot executes {first} / {second} / {third} and halts at the first obstacle. How many "
        "moves has it completed?",
    ),
    names=(
        ("0", "1", "2", "3"),
        ("none", "one", "two", "all three"),
        ("0 moves", "1 move", "2 moves", "3 moves"),
    ),
    descriptions=(
        "the first move is blocked",
        "the second move is blocked",
        "the third move is blocked",
        "nothing is blocked",
    ),
    shuffle=False,
)
