"""Cut-offs with a guarantee: learn-then-test on labelled scores.

The method is Learn then Test (Angelopoulos, Bates, Candès, Jordan and Lei 2021, Theorem 1): every
candidate cut-off is a hypothesis "acting from here on is wrong too often", tested with an exact
binomial p-value; any procedure that controls the family-wise error at delta returns cut-offs that
all keep the target with probability 1 - delta over the labels, for any sample size and any scores.

The procedure is split fixed-sequence testing (their section 2.2; Maurer, Hothorn and Lehmacher
1995): a small part of the labels proposes cut-offs and their order, the rest tests them in that
order, each at the full delta, until one fails. A sequence fixed before its tests are seen needs no
correction for multiplicity: an error occurs exactly when its first bad cut-off passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thisthat.calibrate.binomial import faultless_rows, lower_tail
from thisthat.calibrate.proposal import Flags, Floats, proposed
from thisthat.decide.target import Target
from thisthat.rng import Rng

MOST_PROPOSING = 300
_PROPOSING_SHARE = 10
# Fewer labels than this propose too little; of very few labels, a quarter is all we can spare.
_USUAL_PROPOSING = 20
_LARGEST_SHARE = 4
_PROJECTED = 40
_GROWTH = 1.1
_MOST_GROWTH = 10_000.0


@dataclass(frozen=True, slots=True)
class Scored:
    """Labelled answers of one question: which option may be acted on, how probable, the right one.

    That is the best option, or always the same one, whichever is best.
    """

    best: NDArray[np.int64]
    probability: Floats
    label: NDArray[np.int64]

    @property
    def right(self) -> Flags:
        """Where that option is the right one."""
        return np.asarray(self.best == self.label)

    @classmethod
    def from_distributions(
        cls, distributions: Sequence[Sequence[float]], labels: Sequence[int]
    ) -> Scored:
        """The best option (the first on a tie) of every distribution, beside its label."""
        best = [max(range(len(p)), key=p.__getitem__) for p in distributions]
        sure = [p[index] for p, index in zip(distributions, best, strict=True)]
        return cls(np.array(best, np.int64), np.array(sure, np.float64), np.array(labels, np.int64))

    @classmethod
    def of_option(
        cls, distributions: Sequence[Sequence[float]], labels: Sequence[int], option: int
    ) -> Scored:
        """One option of every distribution, whichever is best, beside the label.

        A cut-off on these is one on another score of the same states, so the tests are as exact.
        """
        sure = [p[option] for p in distributions]
        same = np.full(len(sure), option, np.int64)
        return cls(same, np.array(sure, np.float64), np.array(labels, np.int64))


@dataclass(frozen=True, slots=True)
class Cutoff:
    """The probability from which an option is acted on, and its effect on the labelled rows.

    ``value`` is None where the labels support no cut-off. ``labels`` counts rows on which the
    option might be acted on; ``acted`` and ``wrong`` those at or above the cut-off.
    ``least_labels`` is what the target takes if no answer acted on is wrong; ``likely_labels`` what
    it takes if further labels look like these, None where they would not help.
    """

    value: float | None
    labels: int
    acted: int
    wrong: int
    least_labels: int
    likely_labels: int | None


def fit_cutoffs(
    scored: Scored, options: Sequence[int], target: Target, delta: float
) -> dict[int, Cutoff]:
    """A cut-off for each of ``options`` such that all keep the target with probability 1 - delta.

    For ``precision`` and ``cost`` delta is shared out evenly among the options (Bonferroni); for
    ``error`` there is one cut-off, the same for all of them.
    """
    if target.aim == "error":
        rows = np.isin(scored.best, options)
        shared = _cutoff(scored.probability[rows], scored.right[rows], target, delta)
        return dict.fromkeys(options, shared)
    found: dict[int, Cutoff] = {}
    for option in options:
        rows = scored.best == option
        share = delta / len(options)
        found[option] = _cutoff(scored.probability[rows], scored.right[rows], target, share)
    return found


def _cutoff(sure: Floats, right: Flags, target: Target, delta: float) -> Cutoff:
    value = certify(sure, right, target, delta)
    acted = sure >= (math.inf if value is None else value)
    return Cutoff(
        value=value,
        labels=len(sure),
        acted=int(acted.sum()),
        wrong=int((acted & ~right).sum()),
        least_labels=least_labels(target.wrong_rate, delta),
        likely_labels=likely_labels(sure, right, target.wrong_rate, delta)
        if value is None
        else len(sure),
    )


def certify(sure: Floats, right: Flags, target: Target, delta: float) -> float | None:
    """The best cut-off that passes, or None.

    Best is the lowest (most coverage) for ``precision`` and ``error``, the cheapest for ``cost``.
    """
    proposing, testing = _split(len(sure))
    if not len(proposing) or not len(testing):
        return None
    test = _Counts(sure[testing], right[testing])
    sequence = proposed(sure[proposing], right[proposing], len(testing), target, delta)
    wrong, acted = test.wrong(sequence), test.acted(sequence)
    passing = 0
    for faults, rows in zip(wrong.tolist(), acted.tolist(), strict=True):
        if lower_tail(faults, rows, target.wrong_rate) > delta:
            break
        passing += 1
    if not passing:
        return None
    if target.fp is not None and target.fn is not None:
        spent = target.fp * wrong[:passing] - target.fn * (acted - wrong)[:passing]
        return sequence[int(np.argmin(spent))]
    return min(sequence[:passing])


def least_labels(wrong_rate: float, delta: float) -> int:
    """The fewest labels that can support the target: every one tested is acted on and right."""
    tested = faultless_rows(wrong_rate, delta)
    labels = tested + 1
    while tested_labels(labels) < tested or not _proposing(labels):
        labels += 1
    return labels


def likely_labels(sure: Floats, right: Flags, wrong_rate: float, delta: float) -> int | None:
    """How many labels may support the target that these do not, if further ones look like these.

    The least: with so many, many a fit is refused again, since what few labels show is uncertain.
    More than there are, or None where no number would: even the surest answers are wrong too often.
    """
    if not len(sure):
        return None
    counts = _Counts(sure, right)
    cuts = np.quantile(sure, np.linspace(0, 1, min(len(sure), _PROJECTED)), method="lower")
    acted = counts.acted(cuts)
    # Half a wrong answer more than seen: zero observed errors do not mean a zero rate.
    rates = (counts.wrong(cuts) + 0.5) / (acted + 1)
    hopeful = rates < wrong_rate
    if not hopeful.any():
        return None
    growth = _GROWTH
    while growth <= _MOST_GROWTH:
        labels = math.ceil(len(sure) * growth)
        tested = tested_labels(labels) / len(sure)
        for rows, rate in zip(acted[hopeful], rates[hopeful], strict=True):
            trials = math.floor(rows * tested)
            if lower_tail(math.ceil(trials * rate), trials, wrong_rate) <= delta:
                return labels
        growth *= _GROWTH
    return None


def tested_labels(labels: int) -> int:
    """How many of the labels test cut-offs; the rest propose them."""
    return labels - _proposing(labels)


class _Counts:
    """How many rows reach a cut-off, and how many of those are wrong."""

    def __init__(self, sure: Floats, right: Flags) -> None:
        order = np.argsort(sure, kind="stable")
        self._sure = sure[order]
        self._wrong_below = np.concatenate([[0], np.cumsum(~right[order])])

    def acted(self, cuts: ArrayLike) -> NDArray[np.intp]:
        return np.asarray(len(self._sure) - np.searchsorted(self._sure, cuts, "left"))

    def wrong(self, cuts: ArrayLike) -> NDArray[np.intp]:
        below = np.searchsorted(self._sure, cuts, "left")
        return np.asarray(self._wrong_below[-1] - self._wrong_below[below])


def _proposing(rows: int) -> int:
    few = min(_USUAL_PROPOSING, rows // _LARGEST_SHARE)
    return min(MOST_PROPOSING, max(few, rows // _PROPOSING_SHARE))


def _split(rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.argsort(Rng("threshold split", rows).raw_array(rows), kind="stable")
    count = _proposing(rows)
    return order[:count], order[count:]
