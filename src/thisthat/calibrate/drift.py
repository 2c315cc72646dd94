"""Drift between fit and use: do the answers still look like those a policy was fitted on?

Each decision is ranked among the labelled states and all decisions before it: by how sure its best
option is, and by which option that is. While states are drawn like the labelled ones, the ranks are
independent and uniform (a conformal test martingale), and a gambler who bets that they are not ever
wins 1/α with chance α at most, over a stream of any length and however often one looks. A policy's
guarantee holds for states drawn like the labelled ones; a gambler who wins says that they no longer
are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from thisthat.decide.policy import QuestionPart
from thisthat.display import counted
from thisthat.rng import Key, Rng

LEVEL = 0.01
LEAST_ROWS = 50

_CELLS = 2_401
_STEPS = 100
_WAVES = np.repeat([1, 2, 3, 4], 6)
_HEIGHTS = np.tile([-0.9, -0.6, -0.3, 0.3, 0.6, 0.9], 4)
_JUMP = 0.005
_LARGEST_LOG = 700.0


class DriftWarning(UserWarning):
    """Decisions no longer look like the ones their policy was fitted on."""


@dataclass(frozen=True, slots=True)
class DriftTest:
    """What one bet on a question's decisions has come to.

    ``e_value`` is the largest wealth so far, ``bound`` what it takes to call it drift. ``rows`` are
    the decisions; of the policy's ``labels`` at most 512 are kept.
    """

    question: str
    test: str
    e_value: float
    bound: float
    rows: int
    labels: int

    @property
    def lacking(self) -> tuple[str, ...]:
        """What there is too little of to tell from: labels, decisions, or both."""
        found = {"labels": self.labels, "decisions": self.rows}
        return tuple(name for name, number in found.items() if number < LEAST_ROWS)

    @property
    def enough(self) -> bool:
        """Whether there are labels and decisions to tell from."""
        return not self.lacking

    @property
    def drifted(self) -> bool:
        """Whether the bet was won."""
        return self.e_value >= self.bound

    def __str__(self) -> str:
        untold = f"too few {' and '.join(self.lacking)} to tell drift"
        said = "drift" if self.drifted else "no drift" if self.enough else untold
        return (
            f"{self.question}: {said} since the policy was fitted ({self.test}, e-value "
            f"{self.e_value:.4g} of {self.bound:.4g}, {counted(self.rows, 'decision')}"
            + (")" if self.enough else f", fitted on {counted(self.labels, 'label')})")
        )


def advice_about(tests: Iterable[DriftTest]) -> list[str]:
    """What each question lacks to tell drift, and what to do: a line for labels, for decisions."""
    found = {test.question: test for test in tests}
    labels = {name: each.labels for name, each in found.items() if "labels" in each.lacking}
    decisions = {name: each.rows for name, each in found.items() if "decisions" in each.lacking}
    lines = []
    if labels:
        lines.append(
            f"{LEAST_ROWS} labels of a question are needed to tell its drift, and the policy was "
            f"fitted on {_listed(labels)}; decisions do not make up for labels: fit it again"
        )
    if decisions:
        lines.append(
            f"{LEAST_ROWS} decisions of a question are needed to tell its drift; so far: "
            f"{_listed(decisions)}"
        )
    return lines


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number} of {name!r}" for name, number in numbers.items())


class DriftMartingale:
    """Bets on the ranks of a stream of cells, of which there are ``cells``.

    ``reference`` are cells from before, in any order. ``keys`` name the random numbers that break
    ties: equal keys and an equal stream give equal bets.
    """

    def __init__(self, reference: Iterable[int], cells: int, *keys: Key) -> None:
        self._counts = np.bincount(np.fromiter(reference, dtype=np.int64), minlength=cells)
        self._total = int(self._counts.sum())
        self._rng = Rng("drift", *keys)
        self._log = 0.0
        self._shares = np.full(len(_WAVES), 1.0 / len(_WAVES))
        self.highest = 1.0
        self.rows = 0

    def add(self, cell: int) -> float:
        """Take one value by its cell; the wealth after it."""
        self.rows += 1
        below = int(self._counts[:cell].sum())
        self._counts[cell] += 1
        self._total += 1
        # Ties are broken by chance, so that the rank is uniform for values that repeat too.
        rank = below + self._rng.uniform() * int(self._counts[cell])
        return self._bet(rank / self._total)

    def _bet(self, rank: float) -> float:
        """Bet on waves of one to four halves over the ranks, moving a little between them."""
        shares = (1 - _JUMP) * self._shares + _JUMP / len(_WAVES)
        shares = shares * (1.0 + _HEIGHTS * np.cos(math.pi * rank * _WAVES))
        total = float(shares.sum())
        self._shares = shares / total
        self._log += math.log(total)
        wealth = math.exp(min(self._log, _LARGEST_LOG))
        self.highest = max(self.highest, wealth)
        return wealth

    def drifted(self, alpha: float) -> bool:
        """Whether the wealth has ever reached 1/α."""
        return self.highest >= 1.0 / alpha


def sureness(reference: Iterable[float], *keys: Key) -> DriftMartingale:
    """Bets on a stream of probabilities, whose cells ``sure_cell`` tells."""
    return DriftMartingale(map(sure_cell, reference), _CELLS, *keys)


def sure_cell(probability: float) -> int:
    """The cell of a probability: hundredths of its log-odds, so that any stream fits in memory."""
    bounded = min(max(probability, 1e-12), 1 - 1e-12)
    place = round(_STEPS * math.log(bounded / (1 - bounded))) + _CELLS // 2
    return min(max(place, 0), _CELLS - 1)


class QuestionDrift:
    """Both bets on the decisions of one question, each at half its level."""

    def __init__(self, name: str, fitted: QuestionPart, level: float, *keys: Key) -> None:
        self._name, self._level = name, level / 2
        self.labels = len(fitted.reference.sure)
        self._places = {option: place for place, option in enumerate(fitted.options)}
        best = [
            place
            for option, place in self._places.items()
            for _ in range(fitted.reference.best.get(option, 0))
        ]
        self._sure = sureness(fitted.reference.sure, name, "sure", *keys)
        # One cell more for what the policy does not know.
        self._best = DriftMartingale(best, len(self._places) + 1, name, "best", *keys)

    @property
    def rows(self) -> int:
        """How many decisions were taken in."""
        return self._sure.rows

    def cells(self, best: str, sure: float) -> tuple[int, int]:
        """What ``add`` takes of a decision: small numbers, of which many can wait."""
        return self._places.get(best, len(self._places)), sure_cell(sure)

    def add(self, best: int, sure: int) -> None:
        """Take in one decision by its cells."""
        self._best.add(best)
        self._sure.add(sure)

    def tests(self) -> list[DriftTest]:
        """What both bets have come to."""
        named = {"how sure": self._sure, "which option": self._best}
        return [
            DriftTest(self._name, name, bets.highest, 1 / self._level, self.rows, self.labels)
            for name, bets in named.items()
        ]
