"""How often each option is found where it is right, and which are found less often than before.

Accuracy, and even balanced accuracy, may rise while the rare option that matters is lost.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

MOST_TOLD = 8
"""Labelled options of a question, above which they are not listed."""

_LEVEL = 0.05
"""The chance that any option of a question is called found less often where none is."""


@dataclass(frozen=True)
class Found:
    """On how many of the rows on which an option is right it was answered, now and before.

    ``less`` is whether the rows show that it is found less often, by an exact sign test of those
    that changed, corrected for the number of options.
    """

    option: str
    rows: int
    now: int
    before: int | None = None
    less: bool = False

    @property
    def counts(self) -> str:
        """The numbers in words."""
        told = f"{self.now} of {self.rows}"
        return told if self.before is None else f"{told}, before {self.before} of {self.rows}"


def found_by_option(
    options: Sequence[str],
    labels: NDArray[np.intp],
    chosen: NDArray[np.intp],
    before: NDArray[np.intp] | None = None,
    groups: Sequence[Hashable] | None = None,
) -> list[Found]:
    """Every option that is right somewhere; each of the ``groups``, if given, counts as one row."""
    found: list[Found] = []
    changed: list[tuple[int, int]] = []
    for place in np.unique(labels):
        rows = np.flatnonzero(labels == place)
        now = chosen[rows] == place
        each = Found(options[place], len(rows), int(now.sum()))
        if before is not None:
            earlier = before[rows] == place
            own = rows.tolist() if groups is None else [groups[row] for row in rows.tolist()]
            changed.append(_changed(earlier.astype(int) - now, own))
            each = replace(each, before=int(earlier.sum()))
        found.append(each)
    if before is None:
        return found
    told = zip(found, _less(changed), strict=True)
    return [replace(each, less=less) for each, less in told]


def _changed(losses: NDArray[np.intp], groups: Sequence[Hashable]) -> tuple[int, int]:
    """How many groups of rows were lost, and how many won."""
    net: Counter[Hashable] = Counter()
    for group, loss in zip(groups, losses.tolist(), strict=True):
        net[group] += loss
    return sum(each > 0 for each in net.values()), sum(each < 0 for each in net.values())


def _less(changed: Sequence[tuple[int, int]]) -> list[bool]:
    """Which options lost more than chance explains.

    Bonferroni's correction, by Tarone (1990) only for those that changed often enough to be told.
    """
    best = [0.5 ** (lost + won) for lost, won in changed]
    tested = next(k for k in count(1) if sum(each <= _LEVEL / k for each in best) <= k)
    return [_by_chance(lost, won) <= _LEVEL / tested for lost, won in changed]


def _by_chance(lost: int, won: int) -> float:
    """How likely as many are lost, of those that changed, if each is won as easily."""
    return sum(math.comb(lost + won, few) for few in range(won + 1)) / (1 << (lost + won))


def found_words(found: Sequence[Found]) -> str | None:
    """All options in a line; None for more than a line should have."""
    if len(found) > MOST_TOLD:
        return None
    return "; ".join(f"{each.option} {each.counts}" for each in found)


def lost_words(found: Sequence[Found]) -> str | None:
    """The options that are found less often, in words; None where there are none."""
    lost = [f"{each.option!r} is found less often: {each.counts}" for each in found if each.less]
    return "; ".join(lost) or None
