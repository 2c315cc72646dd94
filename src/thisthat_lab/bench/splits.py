"""Fitting cut-offs on random parts of a pool of labelled scores, and judging them on the others.

Two questions are asked of every split. Is the target missed in the whole pool? The labels are a
random sample of it, so this is what the guarantee speaks about, without noise. Is it missed on the
rows left over? They are few, so some splits miss there by chance while the pool is on target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thisthat.calibrate.threshold import Cutoff, Scored, fit_cutoffs
from thisthat.decide.target import Target

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tally:
    """What came out over all splits; shares are means over them.

    ``missed`` splits broke the target in the whole pool, ``missed_left`` on the rows left over,
    ``by_chance`` on those rows alone. ``best`` is the coverage of the best cut-offs known
    afterwards on the rows left over: the most that keeps the target, or under a cost the cheapest.
    ``saved`` is what the cut-offs save of what the cheapest would; None without a cost.
    """

    splits: int
    refused: int
    missed: int
    missed_left: int
    by_chance: int
    coverage: float
    best: float
    saved: float | None


def over_splits(
    pool: Scored,
    options: Sequence[int],
    target: Target,
    delta: float,
    labels: int,
    splits: int,
    seed: int,
) -> Tally:
    """Fit on ``labels`` rows of the pool taken at random, ``splits`` times over.

    ``labels`` must leave rows over.
    """
    random = np.random.default_rng(seed)
    refused = missed = missed_left = by_chance = 0
    coverage, best, saved, savable = 0.0, 0.0, 0.0, 0.0
    for _ in range(splits):
        order = random.permutation(len(pool.best))
        left = _taken(pool, order[labels:])
        cutoffs = fit_cutoffs(_taken(pool, order[:labels]), options, target, delta)
        refused += all(cutoff.value is None for cutoff in cutoffs.values())
        in_pool, on_left = misses(pool, cutoffs, target), misses(left, cutoffs, target)
        missed += in_pool
        missed_left += on_left
        by_chance += on_left and not in_pool
        coverage += float(_acted(left, cutoffs).mean())
        ideal = best_cutoffs(left, options, target)
        best += float(_acted(left, ideal).mean())
        saved += _saving(left, cutoffs, target)
        savable += _saving(left, ideal, target)
    return Tally(
        splits,
        refused,
        missed,
        missed_left,
        by_chance,
        coverage / splits,
        best / splits,
        saved / savable if savable else None,
    )


def misses(rows: Scored, cutoffs: Mapping[int, Cutoff | float], target: Target) -> bool:
    """Whether acting from these cut-offs on is wrong too often on these rows."""
    acted, right = _acted(rows, cutoffs), rows.right
    for option in [list(cutoffs)] if target.aim == "error" else [[each] for each in cutoffs]:
        mine = acted & np.isin(rows.best, option)
        if (mine & ~right).sum() > target.wrong_rate * mine.sum():
            return True
    return False


def best_cutoffs(rows: Scored, options: Sequence[int], target: Target) -> dict[int, float]:
    """The cut-offs that somebody who knows the labels of these rows would take.

    The lowest that keep the target, or the cheapest under a cost; infinite where none is good.
    """
    found: dict[int, float] = {}
    for mine in [list(options)] if target.aim == "error" else [[option] for option in options]:
        within = np.isin(rows.best, mine)
        order = np.argsort(-rows.probability[within], kind="stable")
        sure, right = rows.probability[within][order], rows.right[within][order]
        wrong, acted = np.cumsum(~right), np.arange(1, len(sure) + 1)
        whole = np.append(sure[1:] < sure[:-1], True) if len(sure) else np.zeros(0, bool)
        if target.fp is not None and target.fn is not None:
            price = target.fp * wrong - target.fn * (acted - wrong)
            good = whole & (price < 0)
            at = np.argmin(np.where(good, price, math.inf)) if good.any() else None
        else:
            good = whole & (wrong <= target.wrong_rate * acted)
            at = np.nonzero(good)[0][-1] if good.any() else None
        found |= dict.fromkeys(mine, math.inf if at is None else float(sure[at]))
    return found


def _taken(pool: Scored, rows: NDArray[np.intp]) -> Scored:
    return Scored(pool.best[rows], pool.probability[rows], pool.label[rows])


def _acted(rows: Scored, cutoffs: Mapping[int, Cutoff | float]) -> NDArray[np.bool_]:
    levels = np.full(int(rows.best.max()) + 1, math.inf)
    for option, cutoff in cutoffs.items():
        value = cutoff.value if isinstance(cutoff, Cutoff) else cutoff
        if value is not None and option < len(levels):
            levels[option] = value
    return np.asarray(rows.probability >= levels[rows.best])


def _saving(rows: Scored, cutoffs: Mapping[int, Cutoff | float], target: Target) -> float:
    """How much less acting costs than never acting; 0 without a cost."""
    if target.fp is None or target.fn is None:
        return 0.0
    acted = _acted(rows, cutoffs)
    wrong = int((acted & ~rows.right).sum())
    return target.fn * (int(acted.sum()) - wrong) - target.fp * wrong
