"""Will one attempt with a noisy actuator be collision-free? The answer is one real attempt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Case, boolean, words_of
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
    return tuple(
        direction for direction in DIRECTIONS if scene.window.is_open(step(scene.agent, direction))
    )


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
    "stochastic", "window", fill, truth, words_of(__file__), facts=facts, balanced=False
)
