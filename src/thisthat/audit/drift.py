"""Drift in the log: decisions made under a policy, against the ones it was fitted on."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from thisthat.audit.entry import Entry
from thisthat.calibrate.drift import LEVEL, DriftTest, DriftWarning, drift_tests
from thisthat.decide.policy import Policy
from thisthat.errors import InvalidInputError
from thisthat.identity import schema_hash_of


def check_drift(entries: Iterable[Entry], policy: Policy, level: float = LEVEL) -> list[DriftTest]:
    """``drift_in``, with a DriftWarning (name and p-value) for each test that finds drift."""
    found = drift_in(entries, policy, level)
    for each in found:
        if each.drifted:
            warnings.warn(str(each), DriftWarning, stacklevel=2)
    return found


def drift_in(entries: Iterable[Entry], policy: Policy, level: float = LEVEL) -> list[DriftTest]:
    """Test every question of the policy on the log lines that carry it.

    Both tests of all questions share ``level``. Questions go by the policy's names. Raises
    InvalidInputError for a level outside 0 to 1.
    """
    if not 0 < level < 1:
        raise InvalidInputError("level", f"is {level:g}; it must lie between 0 and 1")
    seen: dict[str, tuple[list[str], list[float]]] = {}
    parts: dict[tuple[str, str], str | None] = {}
    for entry in entries:
        if entry.policy != policy.hash:
            continue
        asked = entry.question, entry.schema
        if asked not in parts:
            parts[asked] = _part(policy, *asked)
        part = parts[asked]
        if part is not None:
            best, sure = seen.setdefault(part, ([], []))
            best.append(entry.best)
            sure.append(entry.sure)
    found: list[DriftTest] = []
    for name, (best, sure) in seen.items():
        reference = policy.questions[name].reference
        found += drift_tests(name, reference, best, sure, level / len(seen))
    return found


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
