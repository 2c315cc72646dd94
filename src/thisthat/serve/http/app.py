"""The app: every wire format, the operations and the page, in front of one service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from thisthat.serve.formats.chat import chat_operations
from thisthat.serve.formats.decide import decide_operations
from thisthat.serve.formats.decisions import decisions_operations
from thisthat.serve.formats.models import models_operations
from thisthat.serve.formats.outcomes import outcomes_operations
from thisthat.serve.formats.systemone import systemone_operations
from thisthat.serve.http.guard import Guard, shape_for
from thisthat.serve.http.loop import loop_operations
from thisthat.serve.http.openapi import document
from thisthat.serve.http.operations import admin_operations
from thisthat.serve.http.routes import PlainRoute, Shortcut
from thisthat.serve.http.teach import teach_operations
from thisthat.serve.page import (
    about_operations,
    api_operations,
    page_operations,
    prompt_operations,
)
from thisthat.serve.problems import Problem, response
from thisthat.serve.service import Service

_KINDS = {404: "not_found", 405: "method_not_allowed"}
_CLEARER = {
    "Not Found": "no such path; /docs lists all of them",
    "Method Not Allowed": "this path takes another method; /docs says which",
}


def create_app(service: Service) -> ASGIApp:
    """The ASGI app around ``service``; its runner loads the checkpoint."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.scheduler.start()
        yield
        await asyncio.to_thread(service.scheduler.close)
        await asyncio.to_thread(service.close_log)
        if service.teacher is not None:
            await asyncio.to_thread(service.teacher.close)

    layers = [Middleware(Guard, service=service)]
    operations = [
        *systemone_operations(service),
        *chat_operations(service),
        *decisions_operations(service),
        *decide_operations(service),
        *outcomes_operations(service),
        *models_operations(service),
        *admin_operations(service),
        *loop_operations(service),
        *teach_operations(service),
        *prompt_operations(service),
        *about_operations(service),
        # Last: it takes every other path under /page/.
        *page_operations(),
    ]
    described = cache(lambda: document([each for each in operations if each.public]))
    operations += api_operations(described)

    async def openapi(request: Request) -> Response:
        return JSONResponse(described())

    routes = [PlainRoute(each.method, each.path, each.endpoint) for each in operations]
    app = Starlette(
        routes=[Route("/openapi.json", openapi), *routes],
        middleware=layers,
        exception_handlers={HTTPException: _http_error},
        lifespan=lifespan,
    )
    # A redirect would name whatever host the client claims to have asked.
    app.router.redirect_slashes = False
    return Shortcut(app, routes, layers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _KINDS.get(error.status_code, "http_error")
    request.state.fields["error"] = kind
    problem = Problem(error.status_code, kind, _CLEARER.get(error.detail, error.detail))
    answer = response(problem, shape_for(request.url.path))
    answer.headers.update(error.headers or {})
    return answer
