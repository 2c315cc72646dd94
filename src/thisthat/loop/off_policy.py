"""What another way of acting would have earned, from decisions whose chances were logged.

Weighting by how much likelier the candidate is to act as was acted (IPS) is right on average but
noisy; a model of the reward takes up what it can explain (doubly robust), and stays right on
average whatever the model says, since the weights correct it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat.loop.betting import interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Logged:
    """Decisions with outcomes, one entry each.

    ``propensity`` is the chance with which the logged action was taken, ``target`` the chance with
    which the candidate takes it, ``reward`` from 0 to 1. ``predicted`` is what a model that has not
    seen the row expects of the logged action, ``expected`` what it expects of the candidate's way
    of acting on the same state.
    """

    propensity: Floats
    target: Floats
    reward: Floats
    predicted: Floats
    expected: Floats

    def __post_init__(self) -> None:
        """Refuse rows that no estimate can be made of, by field."""
        count = len(self.reward)
        for name in ("propensity", "target", "reward", "predicted", "expected"):
            column = getattr(self, name)
            if len(column) != count:
                raise InvalidInputError(name, f"has {len(column)} rows, reward has {count}")
            if count and not ((column >= 0) & (column <= 1)).all():
                place = int(np.flatnonzero(~((column >= 0) & (column <= 1)))[0])
                raise InvalidInputError(name, f"row {place + 1} is not from 0 to 1")
        if count and (self.propensity <= 0).any():
            place = int(np.flatnonzero(self.propensity <= 0)[0])
            raise InvalidInputError("propensity", f"row {place + 1}: what was done had chance zero")


@dataclass(frozen=True)
class Estimate:
    """A mean reward with an interval that holds it, and how many rows the weights are worth."""

    method: str
    mean: float
    low: float
    high: float
    effective_rows: float


def effective_rows(weights: Floats) -> float:
    """Kish's effective sample size."""
    total = float((weights**2).sum())
    return float(weights.sum()) ** 2 / total if total else 0.0


def ips(logged: Logged, least_propensity: float, alpha: float = 0.05) -> Estimate:
    """Inverse propensity scoring; ``least_propensity`` is what the logging promised at least."""
    weights = _weights(logged, least_propensity)
    values = weights * logged.reward
    low, high = interval(values, 0.0, 1.0 / least_propensity, alpha)
    return Estimate("ips", float(values.mean()), low, min(high, 1.0), effective_rows(weights))


def snips(logged: Logged, least_propensity: float) -> float:
    """The self-normalised estimate: less noise for a little bias, no interval that holds."""
    weights = _weights(logged, least_propensity)
    return float((weights * logged.reward).sum() / weights.sum()) if weights.sum() else 0.0


def doubly_robust(logged: Logged, least_propensity: float, alpha: float = 0.05) -> Estimate:
    """The model's expectation, corrected by the weighted errors it makes on what was done."""
    weights = _weights(logged, least_propensity)
    values = robust_values(logged, least_propensity)
    bound = 1.0 / least_propensity
    low, high = interval(values, -bound, 1.0 + bound, alpha)
    return Estimate(
        "doubly robust",
        float(values.mean()),
        max(low, 0.0),
        min(high, 1.0),
        effective_rows(weights),
    )


def difference(
    candidate: Logged, champion: Logged, least_propensity: float, alpha: float = 0.05
) -> Estimate:
    """By how much the candidate would earn more on the same rows, doubly robust."""
    weights = _weights(candidate, least_propensity)
    others = _weights(champion, least_propensity)
    values = robust_values(candidate, least_propensity) - robust_values(champion, least_propensity)
    bound = 1.0 + 2.0 / least_propensity
    low, high = interval(values, -bound, bound, alpha)
    worth = effective_rows(np.abs(weights - others))
    return Estimate("difference", float(values.mean()), max(low, -1.0), min(high, 1.0), worth)


def robust_values(logged: Logged, least_propensity: float) -> Floats:
    """One doubly robust estimate a row: right on average, whatever the model expects."""
    weights = _weights(logged, least_propensity)
    return np.asarray(logged.expected + weights * (logged.reward - logged.predicted))


def _weights(logged: Logged, least_propensity: float) -> Floats:
    if not 0.0 < least_propensity <= 1.0:
        raise InvalidInputError("least_propensity", f"must be above 0, not {least_propensity:g}")
    if len(logged.reward) == 0:
        raise InvalidInputError("logged", "has no rows")
    below = np.flatnonzero(logged.propensity < least_propensity - 1e-12)
    if len(below):
        raise InvalidInputError(
            "propensity",
            f"row {below[0] + 1} was taken with chance {logged.propensity[below[0]]:g}, "
            f"below the {least_propensity:g} that was promised",
        )
    return np.asarray(logged.target / logged.propensity)
