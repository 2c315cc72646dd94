"""Automatic drift checks: the log is tested whenever a policy has been used often enough.

Windows do not overlap: after every so many decisions of a policy, exactly those are tested. Checks
run in a background thread, one at a time, and read no more than their window; deciding only counts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from thisthat.audit.drift import drift_in
from thisthat.audit.log import DecisionLog
from thisthat.audit.protocol import LogError
from thisthat.calibrate.drift import LEAST_ROWS, DriftTest
from thisthat.decide.policy import Policy
from thisthat.errors import InvalidInputError

CheckOutcome: TypeAlias = Literal["none", "drift", "failed"]

MOST_POLICIES = 256
_MOST_LINES = 50_000
_CLOCK_SECONDS = 60.0
_CLOSE_SECONDS = 10.0
_NOTHING = f"no lines to test; a question needs {LEAST_ROWS} of them, and its policy as many labels"


@dataclass(frozen=True, slots=True)
class DriftCheck:
    """What a check found under the policy with that hash; ``failure`` says why there are no tests.

    ``begins`` is true for the first failure in a row.
    """

    policy: str
    tests: tuple[DriftTest, ...] = ()
    failure: str | None = None
    begins: bool = False

    @property
    def outcome(self) -> CheckOutcome:
        """The outcome in one word."""
        if self.failure is not None:
            return "failed"
        return "drift" if any(test.drifted for test in self.tests) else "none"


@dataclass(slots=True)
class _Window:
    since: float
    decisions: int = 0
    lines: int = 0


class DriftWatch:
    """Checks ``log`` for drift after every ``drift_decisions`` decisions of a policy.

    ``report`` gets the findings, in the checking thread. Only the ``MOST_POLICIES`` most recently
    used policies are counted. Raises InvalidInputError for fewer decisions than a test needs.
    """

    def __init__(
        self, log: DecisionLog, report: Callable[[DriftCheck], None], drift_decisions: int
    ) -> None:
        if drift_decisions < LEAST_ROWS:
            raise InvalidInputError(
                "drift_decisions", f"is {drift_decisions}; a test needs at least {LEAST_ROWS}"
            )
        self._log = log
        self._report = report
        self._every = drift_decisions
        self._windows: dict[str, _Window] = {}
        self._failing: dict[str, None] = {}
        self._lock = threading.Lock()
        self._running: threading.Thread | None = None

    def count(self, policy: Policy, lines: int) -> None:
        """Count one more decision recorded under ``policy``, with so many lines. Never waits.

        A window that fills during another check grows until that check is over.
        """
        with self._lock:
            window = self._windows.pop(policy.hash, None) or _Window(time.time())
            window.decisions += 1
            window.lines += lines
            if window.decisions < self._every or self._running is not None:
                self._windows[policy.hash] = window
                if len(self._windows) > MOST_POLICIES:
                    del self._windows[next(iter(self._windows))]
                return
            self._running = threading.Thread(
                target=self._check, args=(policy, window), name="drift-check", daemon=True
            )
            self._running.start()

    def close(self) -> None:
        """Wait for a running check, for 10 seconds at most."""
        with self._lock:
            running = self._running
        if running is not None:
            running.join(_CLOSE_SECONDS)

    def _check(self, policy: Policy, window: _Window) -> None:
        try:
            self._report(self._noted(self._found(policy, window)))
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

    def _found(self, policy: Policy, window: _Window) -> DriftCheck:
        if not self._log.flush():
            why = self._log.health.last_failure or "writing takes too long"
            return DriftCheck(policy.hash, failure=f"lines are not written yet: {why}")
        # The time only bounds how far back to look; the number of lines ends the window.
        since = window.since - _CLOCK_SECONDS
        limit = min(window.lines, _MOST_LINES)
        try:
            lines = self._log.store.read({"policy": policy.hash}, since, None, limit)
            tests = tuple(drift_in(lines, policy))
        except LogError as error:
            return DriftCheck(policy.hash, failure=str(error))
        except Exception as error:  # an unexpected driver error is a failure like any other
            return DriftCheck(policy.hash, failure=f"{type(error).__name__}: {error}")
        if not tests:
            return DriftCheck(policy.hash, failure=_NOTHING)
        return DriftCheck(policy.hash, tests)
