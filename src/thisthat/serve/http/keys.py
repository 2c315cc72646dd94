"""Who may ask for what, and how often: API keys with names and scopes, and a rate per caller.

Keys are compared in constant time and never logged; a caller goes by the key's name. A file of keys
is read again when it changes.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import os
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from starlette.requests import Request

from thisthat.errors import InvalidInputError
from thisthat.serve.logs import log
from thisthat.serve.problems import Problem

Scope: TypeAlias = Literal["decide", "admin", "log"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

_MOST_CALLERS = 10_000
_BURST_SECONDS = 10.0
_LOOK_SECONDS = 1.0
_COMMENT = re.compile(r"(^|\s)#.*")


@dataclass(frozen=True, slots=True)
class Keys:
    """Where keys come from: ``given`` as texts, and a file, if there is one.

    An entry is ``KEY`` alone, which has ``scope``, or ``NAME SCOPES KEY`` with scopes such as
    ``decide+admin``. In the file, one a line, # starts a comment at the start of a line and after a
    space; elsewhere it belongs to the key. Several keys may have one name, to change them in turn.
    """

    scope: Scope
    given: tuple[str, ...] = ()
    file: Path | None = None

    def __bool__(self) -> bool:
        return bool(self.given) or self.file is not None

    def entries(self) -> list[str]:
        """All entries. Raises InvalidInputError for a file that cannot be read or has none."""
        if self.file is None:
            return list(self.given)
        try:
            lines = self.file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError("keys", f"{self.file} cannot be read: {error}") from None
        found = [_COMMENT.sub("", line).strip() for line in lines]
        if not any(found):
            raise InvalidInputError("keys", f"{self.file} holds no key")
        return [*self.given, *filter(None, found)]

    def stamp(self) -> tuple[int, ...]:
        """Changes whenever the file does."""
        try:
            found = None if self.file is None else self.file.stat()
        except OSError:
            found = None
        return () if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


def keys_in(variable: str, environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The entries in a variable, separated by commas; none if it is not set.

    Raises InvalidInputError for a variable without a key: whoever sets it means to close the door.
    """
    if variable not in environment:
        return ()
    entries = tuple(part.strip() for part in environment[variable].split(",") if part.strip())
    if not entries:
        raise InvalidInputError(variable, "is set but holds no key; unset it to do without keys")
    return entries


@dataclass(frozen=True, slots=True)
class _Key:
    name: str
    scopes: frozenset[str]
    digest: bytes


def _key(entry: str, scope: str, number: int) -> _Key:
    words = entry.split()
    if len(words) == 1:
        words = [f"key {number}", scope, *words]
    if len(words) != 3:
        raise InvalidInputError(
            "keys", f"entry {number} has {len(words)} words; write KEY or NAME SCOPES KEY"
        )
    name, scopes, key = words
    unknown = set(scopes.split("+")) - set(SCOPES)
    if unknown:
        raise InvalidInputError(
            "keys",
            f"entry {number} has the scope {min(unknown)!r}; known are {', '.join(SCOPES)}",
        )
    return _Key(name, frozenset(scopes.split("+")), hashlib.sha256(key.encode()).digest())


class KeyRing:
    """The accepted keys. What no key was declared for needs none; ``guards`` says what does."""

    def __init__(self, *sources: Keys) -> None:
        """Raises InvalidInputError for an entry that is no key."""
        self._sources = sources
        self._keys = self._read()
        self._stamps = [source.stamp() for source in sources]
        self._look_at = time.monotonic() + _LOOK_SECONDS
        # Decided once: taking the last key out of a file must not open the door.
        declared = {source.scope for source in sources if source}
        self._guarded = declared.union(*(key.scopes for key in self._keys))

    def guards(self, scope: Scope) -> bool:
        """Whether a key is needed for this."""
        return scope in self._guarded

    def caller(self, request: Request, scope: Scope) -> str:
        """The caller's name for limits and logs.

        Raises Problem: 401 for an unknown key, 403 for one without the scope.
        """
        if not self.guards(scope):
            return request.client.host if request.client else "local"
        self._look()
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        # Header values are decoded as Latin-1; this restores the bytes sent.
        digest = hashlib.sha256(given.strip().encode("latin-1")).digest()
        # Compare every key, so that timing does not reveal a near match.
        found = [key for key in self._keys if hmac.compare_digest(digest, key.digest)]
        if scheme.lower() != "bearer" or not found:
            raise Problem(
                401,
                "invalid_key",
                "send a known key as Authorization: Bearer KEY",
                headers={"www-authenticate": "Bearer"},
            )
        for key in found:
            if scope in key.scopes:
                return key.name
        has = "+".join(sorted(found[0].scopes))
        why = f"this key is for {has}, not for {scope}; in the file of keys, the line"
        raise Problem(403, "wrong_scope", f"{why} NAME {has}+{scope} KEY lets it do both")

    def _read(self) -> list[_Key]:
        entries = [(entry, each.scope) for each in self._sources for entry in each.entries()]
        return [_key(*entry, number) for number, entry in enumerate(entries, 1)]

    def _look(self) -> None:
        """Read the files again if one has changed; what cannot be used leaves the old keys."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + _LOOK_SECONDS
        stamps = [source.stamp() for source in self._sources]
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            self._keys = self._read()
        except InvalidInputError as error:
            log("the old keys stay", logging.WARNING, error=str(error))
        else:
            log("keys read again", keys=len(self._keys))


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
