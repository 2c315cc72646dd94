"""How often each option is found where it is right, and which are found less often than before.

Accuracy, and even balanced accuracy, may rise while the rare option that matters is lost.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thisthat.items.metrics import paired_difference

MOST_TOLD = 8
"""Labelled options of a question, above which they are not listed."""

_FEWEST_LOST = 4
"""Fewer rows lost than this may be chance, however few rows the option has."""


@dataclass(frozen=True)
class Found:
    """On how many of the rows on which an option is right it was answered, now and before.

    ``less`` is whether the rows show that it is found less often: the whole paired interval of the
    difference is below zero, as for accuracy, and at least four rows were lost.
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
    """Every option that is right somewhere; whole ``groups`` of rows are drawn when given."""
    found = []
    for place in np.unique(labels):
        rows = np.flatnonzero(labels == place)
        now = chosen[rows] == place
        option, count = options[place], int(now.sum())
        if before is None:
            found.append(Found(option, len(rows), count))
            continue
        earlier = before[rows] == place
        less = False
        if earlier.sum() - count >= _FEWEST_LOST:
            own = None if groups is None else [groups[row] for row in rows.tolist()]
            less = paired_difference(now, earlier, own).high < 0
        found.append(Found(option, len(rows), count, int(earlier.sum()), less))
    return found


def found_words(found: Sequence[Found]) -> str | None:
    """All options in a line; None for more than a line should have."""
    if len(found) > MOST_TOLD:
        return None
    return "; ".join(f"{each.option} {each.counts}" for each in found)


def lost_words(found: Sequence[Found]) -> str | None:
    """The options that are found less often, in words; None where there are none."""
    lost = [f"{each.option!r} is found less often: {each.counts}" for each in found if each.less]
    return "; ".join(lost) or None
