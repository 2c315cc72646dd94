"""Drift in the log: decisions made under a policy, against the ones it was fitted on."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Iterable

from thisthat.audit.entry import Entry
from thisthat.audit.played import is_played
from thisthat.audit.protocol import Store
from thisthat.calibrate.drift import LEVEL, DriftTest, DriftWarning, QuestionDrift
from thisthat.decide.policy import Policy
from thisthat.errors import InvalidInputError
from thisthat.identity import schema_hash_of

_LATE_SECONDS = 60.0
"""By how much a line may be older than one that was written before it."""


def check_drift(entries: Iterable[Entry], policy: Policy, level: float = LEVEL) -> list[DriftTest]:
    """``drift_in``, with a DriftWarning (name and e-value) for each test that finds drift."""
    found = drift_in(entries, policy, level)
    for each in found:
        if each.drifted:
            warnings.warn(str(each), DriftWarning, stacklevel=2)
    return found


def drift_in(entries: Iterable[Entry], policy: Policy, level: float = LEVEL) -> list[DriftTest]:
    """Test every question of the policy on the log lines that carry it, in any order.

    Questions without a line have no test. Raises InvalidInputError for a level outside 0 to 1.
    """
    stream = DriftStream(policy, level)
    stream.take((entry.time, entry) for entry in entries)
    return stream.tests()


class DriftStream:
    """The bets on one policy's decisions, which never end.

    Both bets of all its questions share ``level``. Questions go by the policy's names. The same
    lines in the same order give the same bets everywhere. What the playground asked is left out.
    Raises InvalidInputError for a level outside 0 to 1.
    """

    def __init__(self, policy: Policy, level: float = LEVEL) -> None:
        if not 0 < level < 1:
            raise InvalidInputError("level", f"is {level:g}; it must lie between 0 and 1")
        self._policy = policy
        each = level / len(policy.questions)
        self._bets = [
            QuestionDrift(name, part, each, policy.hash) for name, part in policy.questions.items()
        ]
        self._parts: dict[tuple[str, str], int | None] = {}
        self._last = 0
        self._latest: float | None = None

    def follow(self, store: Store, since: float | None = None) -> None:
        """Take in the lines that the log has got since, in its order. Raises LogError."""
        if self._latest is not None:
            since = self._latest - _LATE_SECONDS
        lines = store.lines({"policy": self._policy.hash}, since, None, None)
        self._last = int(self.take(each for each in lines if each[0] > self._last) or self._last)

    def take(self, lines: Iterable[tuple[float, Entry]]) -> float | None:
        """Take in lines that carry the policy, in the order of the numbers beside them.

        Returns the largest number, if there was a line.
        """
        numbers, cells = array("d"), array("i")
        latest = self._latest or 0.0
        for number, entry in lines:
            part = self._part(entry)
            if part is not None:
                numbers.append(number)
                cells.extend((part, *self._bets[part].cells(entry.best, entry.sure)))
                latest = max(entry.time, latest)
        # Only now: after an error in reading, all of them are read again.
        self._latest = latest if numbers else self._latest
        for place in sorted(range(len(numbers)), key=numbers.__getitem__):
            part, best, sure = cells[3 * place : 3 * place + 3]
            self._bets[part].add(best, sure)
        return max(numbers, default=None)

    def tests(self) -> list[DriftTest]:
        """Both tests of every question that had a line."""
        return [test for bets in self._bets if bets.rows for test in bets.tests()]

    def _part(self, entry: Entry) -> int | None:
        if entry.policy != self._policy.hash or is_played(entry.request):
            return None
        asked = entry.question, entry.schema
        if asked not in self._parts:
            name = _part(self._policy, *asked)
            self._parts[asked] = None if name is None else list(self._policy.questions).index(name)
        return self._parts[asked]


def _part(policy: Policy, question: str, schema: str) -> str | None:
    """The policy's name for the question logged under this name and schema."""
    # A question asked alone carries the name "question", whatever the policy calls it.
    same = [
        name
        for name, part in policy.questions.items()
        if schema_hash_of({question: part.question}) == schema
    ]
    if question in policy.questions and (question in same or not same):
        return question
    if same:
        return same[0]
    return next(iter(policy.questions)) if len(policy.questions) == 1 else None
