"""The learning rate over a run, and when the run is over. Whatever the budget, it ends cool."""

from __future__ import annotations

import math
from dataclasses import dataclass

from thisthat_lab.train.config import Schedule


@dataclass(slots=True)
class Progress:
    """How far a run is."""

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0


def share_done(schedule: Schedule, progress: Progress) -> float:
    """The share of the budget that is used, from 0."""
    if schedule.steps is not None:
        return progress.steps / schedule.steps
    if schedule.tokens is not None:
        return progress.tokens / schedule.tokens
    assert schedule.minutes is not None
    return progress.seconds / (60 * schedule.minutes)


def rate_factor(schedule: Schedule, progress: Progress) -> float:
    """What the full rate is multiplied by for the next step."""
    warm = min(1.0, (progress.steps + 1) / (schedule.warm_up_steps + 1))
    left = max(0.0, 1.0 - share_done(schedule, progress)) / schedule.cool_down
    if left >= 1:
        return warm
    cool = left if schedule.shape == "linear" else (1 - math.cos(math.pi * left)) / 2
    return min(warm, schedule.final + (1 - schedule.final) * cool)
