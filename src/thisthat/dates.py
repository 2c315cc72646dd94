"""Dates as texts, read alike by every Python."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_FRACTION = re.compile(r"(?<=:\d\d)[.,](\d+)")
_OFFSET = re.compile(r"(?<=[:.\d]\d)([+-]\d\d)(\d\d)$")


def seconds_since_1970(text: str) -> float:
    """For an ISO date; UTC, if it does not say. Raises ValueError or OverflowError."""
    # Python 3.10 knows neither Z, nor an offset without a colon, nor any number of decimals.
    plain = _FRACTION.sub(lambda found: f".{found[1]:0<6.6}", text)
    plain = re.sub("[Zz]$", "+00:00", plain)
    if ":" in plain:
        plain = _OFFSET.sub(r"\1:\2", plain)
    found = datetime.fromisoformat(plain)
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
