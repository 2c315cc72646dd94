"""``thisthat.connect``: the counterpart of ``thisthat.open`` for a server that is already running.

What it needs is imported when it is called, so that ``import thisthat`` stays light.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thisthat.environment import ENDPOINT_KEY

if TYPE_CHECKING:
    from thisthat.remote.decider import RemoteDecider


def connect(
    url: str,
    *,
    key: str | None = None,
    model: str = "default",
    lam: float | None = None,
    unit: str | None = None,
    timeout: float = 60.0,
) -> RemoteDecider:
    """A server's answers, with the calls of ``thisthat.open``'s decider. Nothing is sent yet.

    ``url`` is the server's address, with or without /v1; ``key`` one of its keys (None: that in
    THISTHAT_ENDPOINT_KEY, if any); ``model`` a name it answers to; ``lam`` a λ it has loaded (None:
    its own); ``unit`` for whom it asks, such as a customer, so that a canary may answer
    (``for_unit`` makes clients for others); ``timeout`` the seconds to wait for the next answer.
    Raises InvalidInputError for settings that cannot be used.
    """
    from thisthat.remote.decider import RemoteDecider
    from thisthat.remote.server import RemoteServer

    found = os.environ.get(ENDPOINT_KEY) if key is None else key
    return RemoteDecider(RemoteServer(url, found or None, timeout), model, lam, unit)
