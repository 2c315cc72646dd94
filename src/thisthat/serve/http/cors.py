"""What browsers on other sites may do: which origins, which methods, which visible headers."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from thisthat.remote.conditions_header import NAME as CONDITIONS_HEADER
from thisthat.remote.untaught_header import NAME as UNTAUGHT_HEADER
from thisthat.serve.formats.wire import SOURCE_HEADERS
from thisthat.serve.scheduling.deadline import TIMEOUT

ALLOWED_HEADERS = ("authorization", "content-type", "content-encoding", "x-request-id", TIMEOUT)
EXPOSED_HEADERS = (
    "x-request-id",
    "x-typesafe-request-id",
    "retry-after-ms",
    "retry-after",
    "server-timing",
    *SOURCE_HEADERS,
    CONDITIONS_HEADER,
    UNTAUGHT_HEADER,
)


def for_browsers(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """``app`` with responses that pages of these origins may read; ``app`` itself without any."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "POST"],
        allow_headers=list(ALLOWED_HEADERS),
        expose_headers=list(EXPOSED_HEADERS),
    )
