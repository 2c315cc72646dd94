"""The log's own check: decisions made under a policy against the ones it was fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from thisthat.audit.entry import Entry
from thisthat.calibrate.drift import LEVEL, DriftTest, DriftWarning, drift_tests
from thisthat.calibrate.policy import Policy


def check_drift(entries: Iterable[Entry], policy: Policy, level: float = LEVEL) -> list[DriftTest]:
    """``drift_in``, and a DriftWarning with name and p-value for each test that finds drift."""
    found = drift_in(entries, policy, level)
    for each in found:
        if each.drifted:
            warnings.warn(str(each), DriftWarning, stacklevel=2)
    return found


def drift_in(entries: Iterable[Entry], policy: Policy, level: float = LEVEL) -> list[DriftTest]:
    """Test every question of the policy on the log lines that carry it.

    Both tests of all questions share out ``level``.
    """
    seen: dict[str, tuple[list[str], list[float]]] = {}
    for entry in entries:
        if entry.policy == policy.hash:
            best, sure = seen.setdefault(entry.question, ([], []))
            best.append(entry.best)
            sure.append(entry.sure)
    alone = next(iter(policy.questions)) if len(policy.questions) == 1 else None
    found: list[DriftTest] = []
    for name, (best, sure) in seen.items():
        # A question asked alone carries the name "question", not the schema's.
        part = policy.questions.get(name) or (policy.questions[alone] if alone else None)
        if part is not None:
            found += drift_tests(name, part.reference, best, sure, level / len(seen))
    return found
