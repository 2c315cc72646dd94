"""From a request's method and path to its endpoint, directly where the path is fixed.

The framework's layers and routes take longer than most of what an endpoint does before it decides.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from thisthat.serve.formats.wire import Endpoint


class PlainRoute(Route):
    """A route for one method, GET also for HEAD; recorded in the scope for logging."""

    def __init__(self, method: str, path: str, endpoint: Endpoint) -> None:
        # Load balancers ask with HEAD, which starlette adds; uvicorn sends the headers alone.
        super().__init__(path, endpoint, methods=[method])

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Like any route, but records itself in the scope."""
        match, child = super().matches(scope)
        return match, child if match is Match.NONE else {**child, "route": self}


class Shortcut:
    """An ASGI app: ``layers`` wrap routes without parameters directly; ``app`` handles the rest."""

    def __init__(
        self, app: ASGIApp, routes: Iterable[PlainRoute], layers: Sequence[Middleware]
    ) -> None:
        self._app = app
        self._routes = {
            (method, route.path): route
            for route in routes
            if "{" not in route.path
            for method in route.methods or ()
        }
        self._straight: ASGIApp = _endpoint
        for layer in reversed(layers):
            self._straight = layer.cls(self._straight, *layer.args, **layer.kwargs)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        route = None
        if scope["type"] == "http":
            route = self._routes.get((scope["method"], scope["path"]))
        if route is None:
            await self._app(scope, receive, send)
        else:
            scope["route"] = route
            await self._straight(scope, receive, send)


async def _endpoint(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    response = await scope["route"].endpoint(Request(scope, receive, send))
    await response(scope, receive, send)
