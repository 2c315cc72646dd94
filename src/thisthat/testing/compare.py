"""Two runs of the same cases: what changed, and what changed across its threshold."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.errors import InvalidInputError
from thisthat.testing.run import CaseOutcome, Run

MOVED = 0.05
"""How far the expected option's probability must move to count as changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """One expectation before and after."""

    before: CaseOutcome
    after: CaseOutcome

    @property
    def crossed(self) -> bool:
        """It held before and does not now, or vice versa."""
        return self.before.passed != self.after.passed


@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes between two runs, those across the threshold first, then by how far they moved.

    ``compared`` counts the expectations that are in both, ``cases`` the cases they belong to;
    ``only_before`` and ``only_after`` name the expectations that are not.
    """

    compared: int
    cases: int
    changes: tuple[Change, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    @property
    def crossed(self) -> tuple[Change, ...]:
        """The changes across the threshold."""
        return tuple(change for change in self.changes if change.crossed)

    @property
    def summary(self) -> str:
        """One line, about cases: a case has changed when one of its answers has."""
        crossed = len({change.after.case for change in self.crossed})
        changed = len({change.after.case for change in self.changes})
        compared = f"{self.cases} case" if self.cases == 1 else f"{self.cases} cases"
        if not self.changes:
            return f"none of {compared} changed"
        across = "none" if not crossed else "this 1" if crossed == 1 else f"these {crossed}"
        return f"{changed} of {compared} changed, {across} across the threshold"


def compare(before: Run, after: Run, moved: float = MOVED) -> Comparison:
    """What differs between two runs: the best option, or the expected one's probability by at
    least ``moved``. Raises InvalidInputError for a ``moved`` outside 0 to 1."""
    if not 0 <= moved <= 1:
        raise InvalidInputError("moved", f"is {moved}; it must be 0 to 1")
    earlier = {_key(outcome): outcome for outcome in before.outcomes}
    later = {_key(outcome): outcome for outcome in after.outcomes}
    both = [Change(earlier[key], later[key]) for key in later if key in earlier]
    changes = [
        change
        for change in both
        if change.crossed
        or _distance(change) >= max(moved, 1e-12)
        or change.before.best != change.after.best
    ]
    changes.sort(key=lambda change: (not change.crossed, -_distance(change)))
    return Comparison(
        compared=len(both),
        cases=len({change.after.case for change in both}),
        changes=tuple(changes),
        only_before=tuple(" / ".join(key) for key in earlier if key not in later),
        only_after=tuple(" / ".join(key) for key in later if key not in earlier),
    )


def _key(outcome: CaseOutcome) -> tuple[str, str]:
    return outcome.case, outcome.question


def _distance(change: Change) -> float:
    return abs(change.after.probability - change.before.probability)
