"""All settings of a server, in one object."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields

from thisthat.errors import InvalidInputError
from thisthat.questions import MOST_DEPTH

MEBIBYTE = 1 << 20

_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/?#\sA-Z]+")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to listen, what to serve, who may ask, and how much.

    Empty ``keys`` let everybody in; empty ``admin_keys`` close the admin endpoints.
    ``also_lambdas`` stay loaded beside the checkpoint's own λ, so that a request can choose. At
    most ``queue_tokens`` are accepted and unanswered, fewer when the engine is slower than it can
    be; requests beyond that get a 503. A client that reads next to nothing of its answer
    for ``send_seconds`` loses its connection. With a decision log, a policy is checked for drift
    after every ``drift_decisions``. Raises InvalidInputError for a number that is not positive, an
    empty alias and an origin that no browser would send.
    """

    host: str = "127.0.0.1"
    port: int = 8017
    checkpoint: str = "default"
    lam: float | None = None
    also_lambdas: tuple[float, ...] = ()
    aliases: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    admin_keys: tuple[str, ...] = ()
    requests_per_minute: float | None = None
    body_bytes: int = 16 * MEBIBYTE
    expanded_bytes: int = 64 * MEBIBYTE
    body_seconds: float = 20.0
    header_bytes: int = 16_384
    header_count: int = 64
    header_seconds: float = 10.0
    send_seconds: float = 30.0
    depth: int = MOST_DEPTH + 8
    questions: int = 400
    states: int = 10_000
    request_tokens: int = 65_536
    batch_tokens: int = 8_192
    bulk_tokens: int = 1_024
    bulk_streams: int = 16
    queue_tokens: int = 8_192
    deadline_seconds: float = 60.0
    drain_seconds: float = 60.0
    cors_origins: tuple[str, ...] = ()
    log_states: bool = False
    drift_decisions: int = 500
    traces: bool = False

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("lam", "port") or isinstance(value, bool):
                continue
            if isinstance(value, (int, float)) and not (math.isfinite(value) and value > 0):
                raise InvalidInputError(each.name, f"is {value}; it must be a positive number")
        if not 0 <= self.port <= 65_535:
            raise InvalidInputError("port", f"is {self.port}; it must lie in 0 to 65535")
        if not all(alias.strip() for alias in self.aliases):
            raise InvalidInputError("alias", "is empty")
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                raise InvalidInputError(
                    "cors-origin",
                    f"is {origin!r}; it must be * or as browsers send it: https://example.org, "
                    "without a path",
                )
