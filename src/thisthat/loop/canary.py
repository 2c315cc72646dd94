"""Two arms compared while outcomes come in: roll back on harm, promote when not worse.

Every outcome becomes an estimate of the difference between the arms that is right on average
whatever the shares were (an inverse-propensity estimate around a running mean), and two gamblers
bet on it: one that the candidate is worse by more than the margin, one that it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat.loop.betting import BettingTest, e_values

Verdict: TypeAlias = Literal["go on", "roll back", "not worse", "shares broken"]

_RATIO_ALPHA = 0.001


@dataclass(frozen=True, slots=True)
class CanarySettings:
    """How much worse the candidate may be, and the chance of each false verdict."""

    margin: float = 0.01
    alpha: float = 0.05

    def __post_init__(self) -> None:
        """Refuse margins and levels that mean nothing."""
        if not 0.0 <= self.margin < 1.0:
            raise InvalidInputError("margin", f"must be from 0 to below 1, not {self.margin:g}")
        if not 0.0 < self.alpha < 1.0:
            raise InvalidInputError("alpha", f"must be between 0 and 1, not {self.alpha:g}")


class Canary:
    """The state of one comparison; outcomes are rewards from 0 (bad) to 1 (good)."""

    def __init__(self, settings: CanarySettings | None = None) -> None:
        self.settings = settings or CanarySettings()
        self.harm, self.fine = BettingTest(), BettingTest()
        self._more, self._fewer = BettingTest(), BettingTest()
        self._sum, self.outcomes = 0.0, 0

    def assigned(self, candidate: bool, share: float) -> None:
        """Note that a decision went to an arm while the candidate's share was ``share``."""
        _checked_share(share)
        excess = float(candidate) - share
        self._more.add(excess, -share)
        self._fewer.add(-excess, share - 1.0)

    def outcome(self, candidate: bool, share: float, reward: float) -> Verdict:
        """Take the outcome of a decision that was assigned at ``share``; what follows from all."""
        _checked_share(share)
        if not 0.0 <= reward <= 1.0:
            raise InvalidInputError("reward", f"must be from 0 to 1, not {reward:g}")
        usual = (self._sum + 0.5) / (self.outcomes + 1)
        weight = 1.0 / share if candidate else -1.0 / (1.0 - share)
        difference = (reward - usual) * weight
        above, below = _bounds(usual, share)
        margin = self.settings.margin
        self.harm.add(-margin - difference, -margin - above)
        self.fine.add(difference + margin, margin - below)
        self._sum, self.outcomes = self._sum + reward, self.outcomes + 1
        return self.verdict

    def pair(self, champion: float, candidate: float) -> Verdict:
        """Take the rewards of both for the same state; what follows from all."""
        for reward in (champion, candidate):
            if not 0.0 <= reward <= 1.0:
                raise InvalidInputError("reward", f"must be from 0 to 1, not {reward:g}")
        difference, margin = candidate - champion, self.settings.margin
        self.harm.add(-margin - difference, -margin - 1.0)
        self.fine.add(difference + margin, margin - 1.0)
        self.outcomes += 1
        return self.verdict

    @property
    def verdict(self) -> Verdict:
        """What the outcomes so far support; harm comes first."""
        if self._more.rejects(_RATIO_ALPHA / 2) or self._fewer.rejects(_RATIO_ALPHA / 2):
            return "shares broken"
        if self.harm.rejects(self.settings.alpha):
            return "roll back"
        return "not worse" if self.fine.rejects(self.settings.alpha) else "go on"


def evidence(
    candidate: NDArray[np.bool_],
    share: NDArray[np.float64],
    reward: NDArray[np.float64],
    margin: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The wealth of both gamblers (harm, not worse) after each outcome; many streams at once."""
    before = np.cumsum(reward, axis=-1) - reward
    usual = (before + 0.5) / (np.arange(reward.shape[-1]) + 1)
    difference = (reward - usual) * np.where(candidate, 1 / share, -1 / (1 - share))
    above = np.maximum((1 - usual) / share, usual / (1 - share))
    below = np.maximum(usual / share, (1 - usual) / (1 - share))
    harm = e_values(-margin - difference, -margin - above)
    return harm, e_values(difference + margin, margin - below)


def _bounds(usual: float, share: float) -> tuple[float, float]:
    """How far one outcome's estimate can lie above and below zero."""
    above = max((1 - usual) / share, usual / (1 - share))
    return above, max(usual / share, (1 - usual) / (1 - share))


def _checked_share(share: float) -> None:
    if not 0.0 < share < 1.0:
        raise InvalidInputError("share", f"must be between 0 and 1 to compare, not {share:g}")
