"""Which arm answered which request, with the chance it had: on record beside the decisions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from thisthat.audit.beside import ASSIGNMENTS, Row
from thisthat.audit.protocol import Store
from thisthat.errors import InvalidInputError

EXPLORATION = "exploration"
_EXPLORED = "explored: "


@dataclass(frozen=True, slots=True)
class Assigned:
    """The ``arm`` and its λ that answered a request, or one ``question`` of it.

    ``share`` is the candidate's chance against the champion then, ``propensity`` the chance of
    this arm among all, ``unit`` the key whose hash decided. Raises InvalidInputError for chances
    that are none. The arm of what was explored names the option that was not acted on.
    """

    request: str
    question: str | None
    experiment: str
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

    @property
    def instead_of(self) -> str | None:
        """The option that would have been acted on as usual; None where nothing was explored."""
        return self.arm.removeprefix(_EXPLORED) if self.arm.startswith(_EXPLORED) else None

    def row(self) -> Row:
        """The row to write with the decision, which adds when it was recorded."""
        # A request may ask a question about several states, which are explored each for itself.
        about = None if self.question is None else f"{self.unit} {self.question}"
        return _key(self.request, about, self.experiment), *_content(self)


_content = attrgetter(*(each.name for each in fields(Assigned)))


def explored_arm(option: str) -> str:
    """The arm of a decision that was explored instead of acting on an option."""
    return _EXPLORED + option


def assignments(store: Store, experiment: str) -> Iterator[Assigned]:
    """Every assignment of an experiment, in no order. Raises LogError."""
    yield from map(_assigned, store.rows(ASSIGNMENTS, {"experiment": experiment}))


def assignment(store: Store, request: str, experiment: str) -> Assigned | None:
    """How an experiment assigned a request; None if it did not. Raises LogError."""
    rows = store.rows(ASSIGNMENTS, {"key": _key(request, None, experiment)})
    return next(map(_assigned, rows), None)


def _assigned(row: Row) -> Assigned:
    content: list[Any] = list(row[1:-1])
    return Assigned(*content)


def _key(request: str, question: str | None, experiment: str) -> str:
    named = json.dumps([request, question, experiment])
    return hashlib.sha256(named.encode()).hexdigest()
