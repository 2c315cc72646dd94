"""Are two named neighbours both blocked?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thisthat.rng import Rng
from thisthat_lab.suites.spatial.ask import boolean, words_of
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


FAMILY = boolean("blocked_pair", "window", fill, truth, words_of(__file__))
