"""When a request must have begun: the server's own limit, or sooner if the client asks.

A client asks with a header; the OpenAI library for Python sends one of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from thisthat.serve.problems import Problem, invalid_header

TIMEOUT = "x-request-timeout-ms"
READ_TIMEOUT = "x-stainless-read-timeout"
SERVER = "--deadline"
MOST_MS = 86_400_000

_TIMEOUT_NAME = TIMEOUT.encode()
_READ_TIMEOUT_NAME = READ_TIMEOUT.encode()
_WHOLE = re.compile(rb"[0-9]{1,8}")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment in monotonic seconds, how long that is, and what set it: a header or the server."""

    at: float
    seconds: float
    set_by: str

    def problem(self, retry_ms: int) -> Problem:
        """503 for a request that had not begun in time."""
        whose = "which is the server's limit" if self.set_by == SERVER else f"see {self.set_by}"
        message = f"not begun within {self.seconds:g} seconds, {whose}"
        return Problem(503, "deadline", message, retry_ms=retry_ms)


def read_deadline(
    headers: Iterable[tuple[bytes, bytes]], server_seconds: float, now: float
) -> Deadline:
    """The earliest of the headers' and the server's deadlines, from ``now`` on.

    Raises Problem (422) for a header that is not such a time.
    """
    seconds, set_by = server_seconds, SERVER
    for name, value in headers:
        if name == _TIMEOUT_NAME:
            asked, by = _milliseconds(value) / 1000, TIMEOUT
        elif name == _READ_TIMEOUT_NAME:
            asked, by = _seconds(value), READ_TIMEOUT
        else:
            continue
        if asked < seconds:
            seconds, set_by = asked, by
    return Deadline(now + seconds, seconds, set_by)


def read_stream_deadline(headers: Iterable[tuple[bytes, bytes]], now: float) -> Deadline | None:
    """The client's deadline for everything it streams; None if it sets none.

    The other limits apply to one state at a time. Raises Problem as ``read_deadline``.
    """
    asked = [_milliseconds(value) / 1000 for name, value in headers if name == _TIMEOUT_NAME]
    return Deadline(now + min(asked), min(asked), TIMEOUT) if asked else None


def _milliseconds(value: bytes) -> int:
    number = int(value) if _WHOLE.fullmatch(value) else 0
    if not 1 <= number <= MOST_MS:
        raise invalid_header(
            TIMEOUT, f"is {_shown(value)}; it must be a whole number from 1 to {MOST_MS}"
        )
    return number


def _seconds(value: bytes) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise invalid_header(
            READ_TIMEOUT, f"is {_shown(value)}; it must be a number of seconds above 0"
        )
    return number


def _shown(value: bytes) -> str:
    return repr(value[:40].decode("ascii", "replace"))
