"""Straight to the endpoints that take the request itself, past the framework's layers and routes.

Those take longer than most of what such an endpoint does before it decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastapi import APIRouter, Request
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from thisthat.serve.formats.wire import PlainRoute


class Shortcut:
    """An ASGI app: plain routes are answered behind ``layers``, everything else by ``app``."""

    def __init__(
        self, app: ASGIApp, routers: Iterable[APIRouter], layers: Sequence[Middleware]
    ) -> None:
        self._app = app
        self._routes = {
            (method, route.path): route
            for router in routers
            for route in router.routes
            if isinstance(route, PlainRoute)
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


async def _endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    response = await scope["route"].endpoint(Request(scope, receive, send))
    await response(scope, receive, send)
