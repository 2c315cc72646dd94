"""Keeping answers even while questions are drawn, wording by wording.

Nearly every window has a way onward. If such a question were asked as it comes, its wording alone
would give the answer, and a question asked the other way round would give the opposite one.
"""

from __future__ import annotations

from typing import Any

from thisthat_lab.suites.spatial.ask import Case, SpatialFamily

_AHEAD = 1


class Evenness:
    """Counts the answers of every family, those to negated wordings apart."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, bool], list[int]] = {}

    def take(self, family: SpatialFamily[Any], case: Case[Any]) -> bool:
        """Whether to ask the case; if so it is counted. An outcome is always asked."""
        if not family.balanced or family.option_count is None:
            return True
        key = (family.name, case.negated)
        counts = self._counts.setdefault(key, [0] * family.option_count)
        answer = family.solve(case)
        if counts[answer] > min(counts) + _AHEAD:
            return False
        counts[answer] += 1
        return True
