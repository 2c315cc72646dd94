"""Append-only tables beside the decisions: outcomes, arms, shadows, clients' own ids, wordings.

Every row has a key and the time it was recorded. A key that is there already has no effect, unless
it stands for something else. Knows no database.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from thisthat.audit.entry import Asked, Entry
from thisthat.errors import InvalidInputError
from thisthat.questions import Question, Text, compact_json

Row: TypeAlias = "tuple[str | float | None, ...]"

KEY_CHARACTERS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table: the columns between its ``key`` and ``recorded``, with their types.

    The rows of one that is ``chained`` have places in the chain, and an order.
    """

    name: str
    content: Mapping[str, type[str] | type[int] | type[float]]
    chained: bool = False

    @property
    def columns(self) -> dict[str, type[str] | type[int] | type[float]]:
        """All columns; the key comes first, the time of recording last."""
        return {"key": str, **self.content, "recorded": float}


OUTCOMES = Table(
    "outcomes",
    {
        "decision": int,
        "request": str,
        "question": str,
        "state_hash": str,
        "option": str,
        "reward": float,
        "happened": int,
        "source": str,
        "time": float,
    },
    chained=True,
)
ASSIGNMENTS = Table(
    "assignments",
    {
        "request": str,
        "question": str,
        "experiment": str,
        "arm": str,
        "lam": float,
        "share": float,
        "propensity": float,
        "unit": str,
    },
)
SHADOWS = Table(
    "shadows",
    {
        "experiment": str,
        "request": str,
        "question": str,
        "state_hash": str,
        "probabilities": str,
        "best": str,
    },
)
CLIENT_REQUESTS = Table("client_requests", {"client": str})
WORDINGS = Table("wordings", {"schema": str, "question": str, "wording": str})
TABLES = (OUTCOMES, ASSIGNMENTS, SHADOWS, CLIENT_REQUESTS, WORDINGS)


class RequestId(str):
    """A request's id that knows what the client called it, and which arms it was assigned to."""

    client: str | None
    assigned: tuple[Row, ...]

    def __new__(cls, own: str, client: str | None = None) -> RequestId:
        """The server's ``own`` id, and the client's."""
        made = super().__new__(cls, own)
        made.client, made.assigned = client, ()
        return made

    def again(self) -> RequestId:
        """The same id for one state of the request, with arms of its own beside the request's."""
        made = RequestId(self, self.client)
        made.assigned = self.assigned
        return made

    def unassigned(self) -> RequestId:
        """The same id for a state that another than the request's arm answered."""
        return RequestId(self, self.client)


def beside(entries: Sequence[Entry]) -> dict[Table, list[Row]]:
    """The rows of other tables that belong to these lines, each of them once."""
    clients: dict[str, Row] = {}
    assigned: dict[object, Row] = {}
    wordings: dict[tuple[str, str], Row] = {}
    for each in entries:
        asked = each.schema, str(each.question)
        if isinstance(each.question, Asked) and asked not in wordings:
            told = *asked, wording_of(each.question.asked)
            key = hashlib.sha256("\0".join(told).encode()).hexdigest()
            wordings[asked] = (key, *told, each.time)
        if isinstance(each.request, RequestId):
            if each.request.client is not None:
                own = str(each.request)
                clients.setdefault(own, (own, each.request.client, each.time))
            for row in each.request.assigned:
                assigned.setdefault(row[0], (*row, each.time))
    return {
        CLIENT_REQUESTS: list(clients.values()),
        ASSIGNMENTS: list(assigned.values()),
        WORDINGS: list(wordings.values()),
    }


def wording_of(question: Question) -> str:
    """What a question asks and what its options mean, as JSON; null where nothing is said."""
    told = {
        "asks": _plain(question.instructions),
        "options": {each.name: _plain(each.description) for each in question.declared},
    }
    return json.dumps(told)


def _plain(text: Text | None) -> str | None:
    return text if text is None or isinstance(text, str) else compact_json(text)


class KeyTakenError(InvalidInputError):
    """The key of a row, by its ``number`` among those given, stands for something else."""

    def __init__(self, table: Table, number: int, key: str) -> None:
        """Name the row and its key."""
        why = f"{key!r} was recorded before with other content"
        super().__init__(f"{table.name}[{number}].key", why)
        self.number = number


def fresh(table: Table, rows: Sequence[Row], known: Mapping[str, Row]) -> list[Row]:
    """The rows whose keys are neither ``known`` nor earlier among them.

    Raises KeyTakenError for a key that stands for something else.
    """
    kept = dict(known)
    new = []
    for number, row in enumerate(rows):
        key = str(row[0])
        before = kept.setdefault(key, row)
        if before is row:
            new.append(row)
        elif before[:-1] != row[:-1]:
            raise KeyTakenError(table, number, key)
    return new
