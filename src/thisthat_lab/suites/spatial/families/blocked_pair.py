"""Are two named neighbours both blocked?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean
from thisthat_lab.suites.spatial.scene import WindowScene
from thisthat_lab.worlds.grid import DIRECTIONS, step


def fill(rng: Rng, scene: WindowScene) -> Mapping[str, Any]:
    """Two different directions."""
    first, second = rng.sample(DIRECTIONS, 2)
    return {"first": first, "second": second}


def truth(scene: WindowScene, blanks: Mapping[str, Any]) -> bool:
    """Whether neither neighbour can be entered."""
    return not any(
        scene.window.is_open(step(scene.agent, blanks[name])) for name in ("first", "second")
    )


FAMILY = boolean(
    "blocked_pair",
    "window",
    fill,
    truth,
    wordings=(
        "Are the neighbouring cells {first} and {second} of the agent both blocked (a wall or "
        "outside the maze)?",
        "Is the agent unable to move {first} and also unable to move {second}?",
        "Do walls or the edge close off both the {first} and the {second} side of the agent?",
        "Would a step {first} and a step {second}, each tried from here, both fail?",
        "Neither {first} nor {second} is open: is that so?",
        "Look {first}, look {second}: is each of these two neighbours a wall or outside?",
        "Are both ways, {first} and {second}, shut?",
    ),
    negated=(
        "Can the agent move {first} or {second} (at least one of the two)?",
        "Is at least one of the neighbours {first} and {second} open?",
        "Of the two directions {first} and {second}, is there one the agent can take?",
        "Would a step {first} or else a step {second} succeed?",
        "Is either the {first} or the {second} neighbour free to enter?",
        "Is there an open cell directly {first} or directly {second} of the agent?",
    ),
    described=(
        ("At least one of the two cells is open.", "Neither of the two cells can be entered."),
        ("one of the two is free", "both are blocked"),
    ),
)
