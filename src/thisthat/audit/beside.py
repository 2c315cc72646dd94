"""Append-only tables beside the decisions: outcomes, assignments, clients' own request ids.

Every row has a key and the time it was recorded. A key that is there already has no effect, unless
it stands for something else. Knows no database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from thisthat.audit.entry import Entry
from thisthat.errors import InvalidInputError

Row: TypeAlias = "tuple[str | float | None, ...]"

KEY_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
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
        "arm": str,
        "lam": float,
        "share": float,
        "propensity": float,
        "unit": str,
    },
)
CLIENT_REQUESTS = Table("client_requests", {"client": str})
TABLES = (OUTCOMES, ASSIGNMENTS, CLIENT_REQUESTS)


class RequestId(str):
    """A request's id that knows what the request's client called it."""

    client: str | None

    def __new__(cls, own: str, client: str | None = None) -> RequestId:
        """The server's ``own`` id, and the client's."""
        made = super().__new__(cls, own)
        made.client = client
        return made


def clients_of(entries: Sequence[Entry]) -> list[Row]:
    """The rows of ``client_requests`` that belong to these lines, one for each request."""
    found: dict[str, Row] = {}
    for each in entries:
        if isinstance(each.request, RequestId) and each.request.client is not None:
            own = str(each.request)
            found.setdefault(own, (own, each.request.client, each.time))
    return list(found.values())


def fresh(table: Table, rows: Sequence[Row], known: Mapping[str, Row]) -> list[Row]:
    """The rows whose keys are neither ``known`` nor earlier among them.

    Raises InvalidInputError for a key that stands for something else.
    """
    kept = dict(known)
    new = []
    for number, row in enumerate(rows):
        key = str(row[0])
        before = kept.setdefault(key, row)
        if before is row:
            new.append(row)
        elif before[:-1] != row[:-1]:
            why = f"{key!r} was recorded before with other content"
            raise InvalidInputError(f"{table.name}[{number}].key", why)
    return new
