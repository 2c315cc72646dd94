"""Who may ask, and how often: API keys and a rate per key.

Keys are compared in constant time and never logged; a caller is identified by the key's number.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.requests import Request

from thisthat.errors import InvalidInputError
from thisthat.serve.problems import Problem

_MOST_CALLERS = 10_000
_BURST_SECONDS = 10.0
_COMMENT = re.compile(r"(^|\s)#.*")


def read_keys(
    path: Path | None, variable: str, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Keys from a file (one per line) and from a variable (separated by commas).

    In the file, # starts a comment at the start of a line and after a space; elsewhere it belongs
    to the key. Raises InvalidInputError for a file that cannot be read or holds no key.
    """
    keys = [part.strip() for part in environment.get(variable, "").split(",") if part.strip()]
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError("keys", f"{path} cannot be read: {error}") from None
        found = [_COMMENT.sub("", line).strip() for line in lines]
        found = [line for line in found if line]
        if not found:
            raise InvalidInputError("keys", f"{path} holds no key")
        keys += found
    return keys


class KeyRing:
    """The accepted keys; an empty ring accepts everybody."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def caller(self, request: Request) -> str:
        """The caller's name for limits and logs. Raises Problem (401) for an unknown key."""
        if not self._digests:
            return request.client.host if request.client else "local"
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        # Header values are decoded as Latin-1; this restores the bytes sent.
        digest = hashlib.sha256(key.strip().encode("latin-1")).digest()
        found = 0
        # Compare every key, so that timing does not reveal a near match.
        for number, known in enumerate(self._digests, 1):
            found += number * hmac.compare_digest(digest, known)
        if scheme.lower() != "bearer" or not found:
            raise Problem(
                401,
                "invalid_key",
                "send a known key as Authorization: Bearer KEY",
                headers={"www-authenticate": "Bearer"},
            )
        return f"key {found}"


class RateLimit:
    """A limit on requests per minute for each caller, with bursts of ten seconds' worth."""

    def __init__(
        self, per_minute: float | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = None if per_minute is None else per_minute / 60
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def spend(self, caller: str) -> None:
        """Count one request. Raises Problem (429) with the time until the next one is allowed."""
        if self._per_second is None:
            return
        most = max(1.0, self._per_second * _BURST_SECONDS)
        now = self._clock()
        left, before = self._left.pop(caller, (most, now))
        left = min(most, left + (now - before) * self._per_second)
        self._left[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._left) > _MOST_CALLERS:
            self._left.popitem(last=False)
        if left < 1:
            wait = max(1, math.ceil((1 - left) / self._per_second * 1000))
            limit = self._per_second * 60
            raise Problem(
                429,
                "rate_limited",
                f"more than {limit:g} requests a minute; retry in {wait} ms",
                retry_ms=wait,
            )
