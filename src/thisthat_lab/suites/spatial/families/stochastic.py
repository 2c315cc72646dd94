"""Will one attempt with a noisy actuator be collision-free? The answer is one real attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Case, boolean
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds.actuator import (
    EVALUATION_RELIABILITIES,
    collision_free_probability,
    execute,
)
from thisthat_lab.worlds.grid import DIRECTIONS, Direction, step


def safe_moves(scene: WindowScene) -> tuple[Direction, ...]:
    """The directions whose cells are open."""
    return tuple(way for way in DIRECTIONS if scene.window.is_open(step(scene.agent, way)))


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """An intended move, a reliability and the move that one attempt makes.

    The benchmark uses its four reliabilities; training draws any of 0.05, 0.10, … 0.95.
    """
    reliability = rng.choice(EVALUATION_RELIABILITIES) if scene.fixed else rng.integer(1, 19) / 20
    return with_reliability(rng, rng.choice(DIRECTIONS), reliability)


def with_reliability(rng: Rng, intended: Direction, reliability: float) -> Mapping[str, Any]:
    """The blanks for one attempt with a given move and reliability."""
    return {
        **direction_blanks(intended),
        "rho": reliability,
        "percent": round(100 * reliability),
        "rest": round(100 - 100 * reliability),
        "executed": execute(reliability, intended, rng),
    }


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether the move that was executed is safe."""
    return blanks["executed"] in safe_moves(scene)


def facts(case: Case[WindowScene]) -> Mapping[str, Any]:
    """The reliability, and q: the exact probability of yes."""
    blanks = case.blanks
    q = collision_free_probability(blanks["rho"], blanks["direction"], safe_moves(case.scene))
    return {"rho": blanks["rho"], "q": 1 - q if case.negated else q}


FAMILY = boolean(
    "stochastic",
    "window",
    fill,
    truth,
    wordings=(
        "The agent intends to move one cell {direction} ({delta}). The actuator executes the "
        "intended direction with probability {rho}; otherwise it executes one of the other three "
        "directions, each equally likely. Will the executed move be collision-free, ending inside "
        "the maze and not on a wall?",
        "The command is {direction}, but the motor is unreliable: it obeys with probability {rho} "
        "and otherwise picks one of the three other directions at random. Will the agent make its "
        "step without a collision?",
        "With probability {rho} the agent goes {direction} as intended; in all other cases it goes "
        "one of the remaining three ways, each as likely. Does the step land on an open cell?",
        "A noisy actuator carries out the intended move ({direction}) {percent}% of the time and a "
        "random other direction {rest}% of the time. Does the agent end up on a free cell?",
        "Reliability {rho}: the intended direction is {direction}; when the actuator fails, any of "
        "the other three directions is taken with equal chance. Is the resulting move safe?",
        "The robot tries to go {direction}. Its drive does what it is told with probability {rho}, "
        "else it moves in a random different direction. Will it avoid walls and the edge?",
    ),
    negated=(
        "The agent intends to move one cell {direction}. The actuator executes that with "
        "probability {rho}; otherwise one of the other three directions, each equally likely. Will "
        "the executed move collide with a wall or leave the maze?",
        "The command is {direction}, obeyed with probability {rho}; else one of the three other "
        "directions is taken at random. Will the step fail because of a wall or the edge?",
        "A noisy actuator carries out the intended move ({direction}) {percent}% of the time and a "
        "random other direction {rest}% of the time. Does the agent bump into something?",
        "Reliability {rho}, intended direction {direction}, failures spread evenly over the other "
        "three directions. Is there a collision on this attempt?",
        "The robot tries to go {direction}; with probability {rho} it does, else it goes another "
        "way at random. Does it hit a wall or the border?",
        "With probability {rho} the agent steps {direction}, otherwise in one of the other three "
        "directions. Is the step blocked?",
    ),
    described=(
        ("The executed move hits a wall or leaves the maze.", "The executed move is free."),
        ("collision", "no collision"),
    ),
    facts=facts,
    balanced=False,
)
