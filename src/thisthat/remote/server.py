"""Requests to a server: its address, key and timeout, and retries while it is busy."""

from __future__ import annotations

import http.client
import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from email.message import Message
from itertools import count
from typing import Any

from thisthat.environment import ENDPOINT_KEY
from thisthat.errors import InvalidInputError, ServerError
from thisthat.remote.retry_after import retry_after_seconds

TRIES = 4
"""Tries of a server that is busy; more, until the timeout, while it says when to come back."""
LOST = (OSError, ValueError, http.client.HTTPException)
"""Raised when reading an answer that breaks off or is not JSON."""

_MOST_BYTES = 1 << 17
"""Of a refusal: our servers name up to a hundred faults."""
_LONGEST_WAIT = 30.0
_LATER_WAIT = 0.5
_RETRIED = (429, 502, 503, 529)


class FieldRefusedError(ServerError):
    """A server refused a field of the body; ``fault`` is the error that the library raises."""

    def __init__(self, message: str, fault: InvalidInputError) -> None:
        super().__init__(message)
        self.fault = fault


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: they would take the key along and lose the body."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing: the redirect itself is the answer, which is an error."""


_OPENER = urllib.request.build_opener(_NoRedirects)


class RemoteServer:
    """A server at a root address, with or without a trailing /v1.

    Raises InvalidInputError for an unusable address, key or timeout.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 60.0) -> None:
        if not _is_address(url):
            hint = "" if "://" in url else f"; write http://{url}"
            raise InvalidInputError("server", f"{url!r} is not an http or https address{hint}")
        if not (math.isfinite(timeout) and timeout > 0):
            raise InvalidInputError("timeout", f"is {timeout:g}; it must be a positive number")
        if key and not (key.isascii() and key.isprintable()):
            # The HTTP library's own error would show the key.
            raise InvalidInputError("key", "has characters that a header cannot hold")
        self.root = url.rstrip("/").removesuffix("/v1")
        self.timeout = timeout
        self._key = key

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        about: str,
        more_headers: Mapping[str, str] | None = None,
    ) -> http.client.HTTPResponse:
        """The response to a body, for the caller to read and close.

        A busy server (429, 502, 503, 529) is tried four times, waiting as long as it asks, at most
        half a minute, and on until the timeout while it asks for that. Raises ServerError, whose
        message says what the request was ``about``, and FieldRefusedError for an unusable field.
        """
        address = self.root + path
        headers = {"Content-Type": "application/json", **(more_headers or {})}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)
        until = time.monotonic() + self.timeout
        for attempt in count(1):
            try:
                response: http.client.HTTPResponse = _OPENER.open(request, timeout=self.timeout)
                return response
            except urllib.error.HTTPError as error:
                with error:
                    busy = error.code in _RETRIED
                    if not busy or (attempt >= TRIES and not _goes_on(error.headers, until)):
                        raise _refusal(error, f"{address}: HTTP {error.code} for {about}") from None
                least = _LATER_WAIT if attempt >= TRIES else 0.0
                time.sleep(max(wait(error.headers, attempt), least))
            except LOST as error:
                why = getattr(error, "reason", error)
                if isinstance(why, ConnectionRefusedError):
                    why = f"{why}; is a server running there (thisthat serve)?"
                raise ServerError(f"{address}: no answer to {about}: {why}") from None
        raise AssertionError("every try ends in an answer or an error")


def _is_address(url: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(url)
        named = parts.hostname is not None and parts.port != 0  # a bad port raises
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and named and url.isprintable()


def _goes_on(headers: Message, until: float) -> bool:
    """Whether the server says when to come back, and that is before the timeout."""
    asked = retry_after_seconds(headers.get)
    return asked is not None and time.monotonic() + min(asked, _LONGEST_WAIT) < until


def wait(headers: Message, attempt: int) -> float:
    """Seconds until the next try: what the server asks for, or a growing delay."""
    asked = retry_after_seconds(headers.get)
    return pause(attempt) if asked is None else min(asked, _LONGEST_WAIT)


def pause(attempt: int) -> float:
    """Seconds until the next try if the server asks for none."""
    return 0.25 * 2.0**attempt


def _refusal(error: urllib.error.HTTPError, what: str) -> ServerError:
    text = error.read(_MOST_BYTES).decode(errors="replace")
    fault = None
    try:
        told = json.loads(text)
        message = told["error"]["message"]
        fault = _field_at_fault(told)
    except (ValueError, TypeError, LookupError):
        message = text[:500]
    hint = f"; a key is taken from {ENDPOINT_KEY} or `key=` (`--key`)" if error.code == 401 else ""
    told_whole = f"{what}: {message}{hint}"
    return ServerError(told_whole) if fault is None else FieldRefusedError(told_whole, fault)


def _field_at_fault(told: Any) -> InvalidInputError | None:
    """The first fault in a field of the body, if our servers' refusal names one."""
    if told["code"] != "invalid_request":
        return None
    part, *place = told["detail"][0]["loc"]
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    field = steps.removeprefix(".")
    return InvalidInputError(field, told["detail"][0]["msg"]) if part == "body" and field else None
