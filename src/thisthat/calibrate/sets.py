"""Prediction sets: the options that cannot be ruled out at a stated coverage.

Split conformal prediction with the least ambiguous sets (Sadinle, Lei and Wasserman 2019; for the
coverage, Vovk, Gammerman and Shafer 2005, Proposition 2.3): an option is in the set when it is at
least as probable as the right option almost always was. For rows drawn like the labelled ones the
set holds the right option with probability at least ``coverage``, averaged over labels and rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from thisthat.errors import InvalidInputError


def fewest_labels(coverage: float) -> int:
    """The fewest labels a coverage needs."""
    return math.ceil(coverage / (1 - coverage) - 1e-9)


def fit_least_probability(truths: Sequence[float], coverage: float) -> float:
    """The probability from which an option belongs to the set.

    ``truths`` are the probabilities that labelled rows gave to their right option. Raises
    InvalidInputError when there are too few for the coverage.
    """
    count = len(truths)
    if count < fewest_labels(coverage):
        needed = f"sets with coverage {coverage:g} need at least {fewest_labels(coverage)}"
        raise InvalidInputError("labels", f"{count} given; {needed}")
    rank = max(1, math.ceil((count + 1) * coverage - 1e-9))
    return sorted(truths, reverse=True)[rank - 1]
