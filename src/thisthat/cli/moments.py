"""Times and durations on the command line."""

from __future__ import annotations

import re
import time

from thisthat.dates import seconds_since_1970
from thisthat.errors import InvalidInputError

_AGE = re.compile(r"(\d+)([dhms])")
_SECONDS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}


def duration(text: str, field: str) -> float:
    """Seconds for a duration such as 7d. Raises InvalidInputError."""
    found = _AGE.fullmatch(text)
    if not found:
        raise InvalidInputError(field, f"{text!r} is not a duration (90d, 12h, 30m, 45s)")
    return int(found[1]) * _SECONDS[found[2]]


def moment(text: str | None, field: str) -> float | None:
    """Seconds since 1970 for an age before now or a date. Raises InvalidInputError."""
    if text is None:
        return None
    if _AGE.fullmatch(text):
        return time.time() - duration(text, field)
    try:
        return seconds_since_1970(text)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            field, f"{text!r} is neither an age (90d, 12h, 30m, 45s) nor a date (2026-01-31)"
        ) from None
