"""The mark of what the playground asked, in the ids of its requests.

Such decisions are on record like all others. The loop and the drift checks leave them out: somebody
tried something, nothing was decided.
"""

from __future__ import annotations

PLAYED = "playground-"
"""How the id of such a request begins."""


def is_played(request: str | None) -> bool:
    """Whether the request with this id came from the playground."""
    return request is not None and request.startswith(PLAYED)
