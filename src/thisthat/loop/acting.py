"""What a policy would have earned, from decisions that another policy made and a server explored.

A policy acts on an answer or leaves it to somebody else. Near its cut-off a server that explores
does the other with a known chance, so that the rewards of both are on record there. Where a policy
would do what the log never does, its reward is not known: it may be anything from 0 to 1, and the
interval holds all of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thisthat.audit.protocol import Store
from thisthat.loop.assignment_log import EXPLORATION, assignments
from thisthat.loop.betting import interval
from thisthat.loop.joined import Joined
from thisthat.loop.off_policy import Logged, effective_rows, robust_values
from thisthat.questions import Answer

_FOLDS = 5

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Acting:
    """By how much a policy would have earned more than the logged ones, with its interval.

    Of all ``rows``, ``explored`` had a chance other than 1, ``differing`` would be decided
    otherwise, and ``unsupported`` were never decided so; ``usual`` is what the logged policies
    earn by themselves. ``effective_rows`` is what the weights of the differing rows are worth.
    """

    rows: int
    explored: int
    differing: int
    unsupported: int
    usual: float
    low: float
    high: float
    mean: float | None
    effective_rows: float

    def lines(self) -> list[str]:
        """The result for people."""
        gain = f"[{self.low:+.3f}, {self.high:+.3f}]"
        if self.mean is not None:
            gain = f"{self.mean:+.3f} {gain}"
        found = [
            f"acting, {self.rows} decisions under policies, {self.explored} of them explored",
            f"  as usual: {self.usual:.3f}; the candidate's policy: {gain}",
            f"  it decides {self.differing} otherwise, worth {self.effective_rows:.0f} rows",
        ]
        if self.unsupported:
            why = "the log never does what it would do; their rewards may be anything"
            found.append(f"  {self.unsupported} of these cannot be told: {why}")
        return found


@dataclass(frozen=True, slots=True)
class _Row:
    """What was done with which chance, what is done as usual, and what the candidate would do."""

    done: str | None
    usual: str | None
    wanted: str | None
    chance: float
    least: float
    reward: float
    sure: float

    @property
    def supported(self) -> bool:
        """Whether the log ever does what the candidate would; None is to leave it to others."""
        return self.wanted == self.usual or (self.wanted is None and self.least < 1.0)


def acting(
    store: Store, found: Sequence[Joined], answers: Sequence[Answer], alpha: float
) -> Acting | None:
    """Compare the outcomes in ``answers`` with what was done; None without a decision to compare.

    ``found`` are decisions under policies whose rewards are known. Raises LogError.
    """
    chances = {
        (each.request, each.question, each.unit): each for each in assignments(store, EXPLORATION)
    }
    rows = []
    for each, answer in zip(found, answers, strict=True):
        entry, outcome = each.entry, answer.outcome
        drawn = chances.get((str(entry.request), entry.question, entry.state_hash[:32]))
        done = entry.option if entry.action == "act" else None
        instead = None if drawn is None else drawn.instead_of
        rows.append(
            _Row(
                done=done,
                usual=done if instead is None else instead,
                wanted=outcome.option if outcome is not None and outcome.action == "act" else None,
                chance=1.0 if drawn is None else drawn.propensity,
                least=1.0 if drawn is None else min(drawn.share, 1 - drawn.share),
                reward=float(each.reward or 0.0),
                sure=entry.sure,
            )
        )
    return _compared(rows, alpha) if rows else None


def _compared(rows: Sequence[_Row], alpha: float) -> Acting:
    supported = np.array([row.supported for row in rows])
    known = [row for row in rows if row.supported]
    least = min(row.least for row in rows)
    low, high = np.zeros(len(rows)), np.zeros(len(rows))
    weights: Floats = np.zeros(0)
    if known:
        usual = _logged(known, [row.usual for row in known])
        wanted = _logged(known, [row.wanted for row in known])
        gains = robust_values(wanted, least) - robust_values(usual, least)
        low[supported] = high[supported] = gains
        differs = np.array([row.usual != row.wanted for row in known])
        weights = ((wanted.target + usual.target) / wanted.propensity)[differs]
    earned = np.array([row.reward * (row.done == row.usual) / row.chance for row in rows])
    # As usual, it earns this on average; otherwise, anything from 0 to 1.
    low[~supported], high[~supported] = -earned[~supported], 1.0 - earned[~supported]
    bound = 1.0 + 2.0 / least
    ends = [interval(each, -bound, bound, alpha)[place] for place, each in enumerate((low, high))]
    return Acting(
        rows=len(rows),
        explored=sum(row.least < 1.0 for row in rows),
        differing=sum(row.usual != row.wanted for row in rows),
        unsupported=int((~supported).sum()),
        usual=float(earned.mean()),
        low=max(ends[0], -1.0),
        high=min(ends[1], 1.0),
        mean=float(low.mean()) if supported.all() else None,
        effective_rows=effective_rows(weights),
    )


def _logged(rows: Sequence[_Row], way: Sequence[str | None]) -> Logged:
    """The rows as seen by one way of acting, with what other rows say to expect of it."""
    target = np.array([float(row.done == one) for row, one in zip(rows, way, strict=True)])
    acts = np.array([row.done is not None for row in rows])
    would = np.array([one is not None for one in way])
    reward, sure = (np.array([getattr(row, name) for row in rows]) for name in ("reward", "sure"))
    predicted, expected = np.zeros(len(rows)), np.zeros(len(rows))
    folds = np.arange(len(rows)) % _FOLDS
    for fold in range(_FOLDS):
        here = folds == fold
        line = _line(sure[~here & acts], reward[~here & acts])
        left = reward[~here & ~acts]
        otherwise = float(left.mean()) if len(left) else 0.5
        on_acting = np.clip(line[0] + line[1] * sure, 0.0, 1.0)
        predicted[here] = np.where(acts, on_acting, otherwise)[here]
        expected[here] = np.where(would, on_acting, otherwise)[here]
    chance = np.array([row.chance for row in rows])
    return Logged(chance, target, reward, predicted, expected)


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    """A straight line through the rewards of acting; flat where they are too few for one."""
    if len(np.unique(x)) < 2:
        return (float(y.mean()) if len(y) else 0.5), 0.0
    slope, start = np.polyfit(x, y, 1)
    return float(start), float(slope)
