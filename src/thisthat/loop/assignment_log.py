"""Which arm answered which request, with the chance it had: on record beside the decisions."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from thisthat.audit.beside import ASSIGNMENTS
from thisthat.audit.protocol import Store
from thisthat.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Assigned:
    """The ``arm`` and its λ that answered a request, or one ``question`` of it.

    ``share`` is what the candidate got then, ``propensity`` the chance of this arm, ``unit`` the
    key whose hash decided. Raises InvalidInputError for chances that are none.
    """

    request: str
    question: str | None
    arm: str
    lam: float
    share: float
    propensity: float
    unit: str

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InvalidInputError("share", f"must be from 0 to 1, not {self.share:g}")
        if not 0 < self.propensity <= 1:
            raise InvalidInputError("propensity", f"must be in (0, 1], not {self.propensity:g}")


def record_assignments(store: Store, assigned: Sequence[Assigned]) -> int:
    """Record assignments durably; returns how many are new.

    Raises LogError, and InvalidInputError for a request or question that has another assignment.
    """
    now = time.time()
    return store.add(ASSIGNMENTS, [(_key(each), *astuple(each), now) for each in assigned])


def assignments(store: Store) -> Iterator[Assigned]:
    """Every assignment in the log, in no order. Raises LogError."""
    for _, *values, _ in store.rows(ASSIGNMENTS):
        content: list[Any] = values
        yield Assigned(*content)


def _key(assigned: Assigned) -> str:
    named = json.dumps([assigned.request, assigned.question])
    return hashlib.sha256(named.encode()).hexdigest()
