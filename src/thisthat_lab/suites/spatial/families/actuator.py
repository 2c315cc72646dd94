"""Will one attempt with a noisy actuator be collision-free? The answer is one real attempt."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import Blanks, Case, boolean, words_of
from thisthat_lab.suites.spatial.families.windows import open_ways
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.suites.spatial.words import direction_blanks
from thisthat_lab.worlds import actuator
from thisthat_lab.worlds.grid import DIRECTIONS, Direction


def _attempt(rng: Rng, scene: WindowScene) -> Blanks:
    """An intended move, a reliability and the move that one attempt makes.

    The benchmark uses its four reliabilities; training draws any of 0.05, 0.10, … 0.95.
    """
    few = actuator.EVALUATION_RELIABILITIES
    reliability = rng.choice(few) if scene.fixed else rng.integer(1, 19) / 20
    return with_reliability(rng, rng.choice(DIRECTIONS), reliability)


def with_reliability(rng: Rng, intended: Direction, reliability: float) -> Blanks:
    """The blanks for one attempt with a given move and reliability."""
    return {
        **direction_blanks(intended),
        "rho": reliability,
        "percent": round(100 * reliability),
        "rest": round(100 - 100 * reliability),
        "executed": actuator.execute(reliability, intended, rng),
    }


def _collision_free(scene: WindowScene, blanks: Blanks) -> bool:
    """Whether the move that was executed is safe."""
    return blanks["executed"] in open_ways(scene, scene.agent)


def _chances(case: Case[WindowScene]) -> Blanks:
    """The reliability, and q: the exact probability of yes."""
    rho, intended = case.blanks["rho"], case.blanks["direction"]
    safe = open_ways(case.scene, case.scene.agent)
    q = actuator.collision_free_probability(rho, intended, safe)
    return {"rho": rho, "q": 1 - q if case.negated else q}


FAMILY = boolean(
    "stochastic",
    "window",
    _attempt,
    _collision_free,
    words_of(__file__, "stochastic"),
    facts=_chances,
    balanced=False,
)
FAMILIES = (FAMILY,)
