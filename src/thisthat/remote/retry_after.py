"""How long a server asks its client to wait: retry-after-ms, or retry-after in seconds."""

from __future__ import annotations

from collections.abc import Callable


def retry_after_seconds(header: Callable[[str], str | None]) -> float | None:
    """The wait in seconds that a response's headers ask for, or None."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(header(name) or "") / scale)
        except ValueError:
            continue
    return None
