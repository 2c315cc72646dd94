"""All settings of a server, in one object."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from pathlib import Path

from thisthat.errors import InvalidInputError
from thisthat.questions import MOST_DEPTH

MEBIBYTE = 1 << 20
MOST_ALSO = 4
"""Checkpoints beside the one that is served; each holds weights of its own."""

_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[^/?#\sA-Z]+")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to listen, what to serve, who may ask, and how much.

    Without ``keys`` or ``keys_file`` everybody may ask; without ``admin_keys`` or
    ``admin_keys_file`` nobody may administer. Requests must name one of ``allowed_hosts``: any with
    ``*``; by default this machine if only it can connect, else any. ``trusted_proxies`` may say
    on whose behalf they ask.
    ``also_lambdas`` stay loaded beside the checkpoint's own λ, so that a request can choose;
    ``also_checkpoints``, each REF or NAME=REF, answer to names of their own. At most
    ``queue_tokens`` are accepted and unanswered, fewer when the engine is slower than it can
    be; requests beyond that get a 503. So do requests beyond ``memory_bytes``, which bounds what
    all of them hold beside the checkpoint. A client that reads next to nothing of its answer
    for ``send_seconds`` loses its connection. With a decision log, a policy is checked for drift
    after every ``drift_decisions``, and a share ``explore`` of what it acts on within
    ``explore_near`` above its cut-off is escalated instead. Teaching over HTTP is for admin keys;
    without any, ``teach`` opens it to whoever may ask. It takes so many rows or states, seconds and
    bytes, in a process of its own. Raises InvalidInputError for a number
    that is not positive, an empty alias and an origin that no browser would send.
    """

    host: str = "127.0.0.1"
    port: int = 8017
    checkpoint: str = "default"
    lam: float | None = None
    also_lambdas: tuple[float, ...] = ()
    also_checkpoints: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    admin_keys: tuple[str, ...] = ()
    keys_file: Path | None = None
    admin_keys_file: Path | None = None
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    requests_per_minute: float | None = None
    body_bytes: int = 16 * MEBIBYTE
    expanded_bytes: int = 64 * MEBIBYTE
    memory_bytes: int = 256 * MEBIBYTE
    body_seconds: float = 20.0
    header_bytes: int = 16_384
    header_count: int = 64
    header_seconds: float = 10.0
    send_seconds: float = 30.0
    connections: int = 1_000
    depth: int = MOST_DEPTH + 8
    values: int = 500_000
    text_bytes: int = MEBIBYTE
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
    explore: float | None = None
    explore_near: float = 0.05
    traces: bool = False
    teach: bool = False
    teach_rows: int = 2_000
    teach_states: int = 2_000
    teach_seconds: float = 600.0
    teach_memory_bytes: int = 2_048 * MEBIBYTE

    @property
    def known_hosts(self) -> frozenset[str] | None:
        """The hosts that a request may name, without a port; None for any."""
        if self.allowed_hosts:
            given = frozenset(host.lower() for host in self.allowed_hosts)
            return None if "*" in given else given
        own = self.host.lower()
        if own in ("localhost", "::1") or own.startswith("127."):
            return frozenset({"localhost", "127.0.0.1", "[::1]", own})
        return None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("lam", "port") or isinstance(value, bool):
                continue
            if isinstance(value, (int, float)) and not (math.isfinite(value) and value > 0):
                raise InvalidInputError(each.name, f"is {value}; it must be a positive number")
        if not 0 <= self.port <= 65_535:
            raise InvalidInputError("port", f"is {self.port}; it must lie in 0 to 65535")
        if len(self.also_checkpoints) > MOST_ALSO:
            many = len(self.also_checkpoints)
            raise InvalidInputError(
                "also-checkpoint",
                f"is given {many} times; {MOST_ALSO} at most, each holds weights of its own",
            )
        if not all(alias.strip() for alias in self.aliases):
            raise InvalidInputError("alias", "is empty")
        for field, given in (("keys", self.keys), ("admin_keys", self.admin_keys)):
            if not all(key.strip() for key in given):
                raise InvalidInputError(field, "has an empty key")
        for origin in self.cors_origins:
            if not _ORIGIN.fullmatch(origin):
                raise InvalidInputError(
                    "cors-origin",
                    f"is {origin!r}; it must be * or as browsers send it: https://example.org, "
                    "without a path",
                )
