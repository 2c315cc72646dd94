"""Automatic drift checks: the bets on a policy go on whenever it has been used often enough.

A check reads what the log has got since the last one, other servers' lines too, and the first of a
policy all of its lines: a restart changes no number. Checks run in a background thread, one at a
time; deciding only counts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from thisthat.audit.drift import DriftStream
from thisthat.audit.log import DecisionLog
from thisthat.audit.protocol import LogError
from thisthat.calibrate.drift import DriftTest, advice_about
from thisthat.decide.policy import Policy
from thisthat.errors import InvalidInputError

CheckOutcome: TypeAlias = Literal["none", "drift", "failed"]

MOST_POLICIES = 256
_CLOSE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """What a check found under the policy with that hash; ``failure`` says why there are no tests.

    ``alarms`` are the tests that found drift for the first time. ``begins`` is true for the first
    failure in a row.
    """

    policy: str
    tests: tuple[DriftTest, ...] = ()
    alarms: tuple[DriftTest, ...] = ()
    failure: str | None = None
    begins: bool = False

    @property
    def outcome(self) -> CheckOutcome:
        """The outcome in one word."""
        if self.failure is not None:
            return "failed"
        return "drift" if any(test.drifted for test in self.tests) else "none"


@dataclass(slots=True)
class _Watched:
    stream: DriftStream | None = None
    decisions: int = 0
    alarmed: frozenset[tuple[str, str]] = frozenset()


class DriftWatch:
    """Looks at ``log`` for drift after every ``drift_decisions`` decisions of a policy.

    However often it looks, the chance that it ever calls out about a policy without drift is
    ``LEVEL`` at most. ``report`` gets the findings, in the checking thread. Only the
    ``MOST_POLICIES`` most recently used policies are watched. Raises InvalidInputError for fewer
    decisions than one.
    """

    def __init__(
        self, log: DecisionLog, report: Callable[[DriftCheck], None], drift_decisions: int
    ) -> None:
        if drift_decisions < 1:
            raise InvalidInputError(
                "drift_decisions", f"is {drift_decisions}; at least 1 is needed"
            )
        self._log = log
        self._report = report
        self._every = drift_decisions
        self._watched: dict[str, _Watched] = {}
        self._failing: dict[str, None] = {}
        self._lock = threading.Lock()
        self._running: threading.Thread | None = None

    def count(self, policy: Policy) -> None:
        """Count one more decision recorded under ``policy``. Never waits.

        Decisions during another check wait for the next one.
        """
        with self._lock:
            watched = self._watched.pop(policy.hash, None) or _Watched()
            watched.decisions += 1
            self._watched[policy.hash] = watched
            if len(self._watched) > MOST_POLICIES:
                del self._watched[next(iter(self._watched))]
            if watched.decisions < self._every or self._running is not None:
                return
            watched.decisions = 0
            self._running = threading.Thread(
                target=self._check, args=(policy, watched), name="drift-check", daemon=True
            )
            self._running.start()

    def close(self) -> None:
        """Wait for a running check, for 10 seconds at most."""
        with self._lock:
            running = self._running
        if running is not None:
            running.join(_CLOSE_SECONDS)

    def _check(self, policy: Policy, watched: _Watched) -> None:
        try:
            self._report(self._noted(self._found(policy, watched)))
        finally:
            with self._lock:
                self._running = None

    def _noted(self, check: DriftCheck) -> DriftCheck:
        """The check, marked if it is the first of its policy to fail again."""
        if check.failure is None:
            self._failing.pop(check.policy, None)
            return check
        begins = check.policy not in self._failing
        self._failing[check.policy] = None
        if len(self._failing) > MOST_POLICIES:
            del self._failing[next(iter(self._failing))]
        return replace(check, begins=begins)

    def _found(self, policy: Policy, watched: _Watched) -> DriftCheck:
        if not self._log.flush():
            why = self._log.health.last_failure or "writing takes too long"
            return DriftCheck(policy.hash, failure=f"lines are not written yet: {why}")
        try:
            watched.stream = stream = watched.stream or DriftStream(policy)
            stream.follow(self._log.store)
        except LogError as error:
            return DriftCheck(policy.hash, failure=str(error))
        except Exception as error:  # an unexpected driver error is a failure like any other
            return DriftCheck(policy.hash, failure=f"{type(error).__name__}: {error}")
        tests = tuple(stream.tests())
        if not any(test.enough or test.drifted for test in tests):
            why = "; ".join(advice_about(tests)) or "no line in the log has this policy"
            return DriftCheck(policy.hash, failure=why)
        drifted = {(test.question, test.test): test for test in tests if test.drifted}
        new = tuple(test for name, test in drifted.items() if name not in watched.alarmed)
        watched.alarmed = frozenset(drifted)
        return DriftCheck(policy.hash, tests, new)
