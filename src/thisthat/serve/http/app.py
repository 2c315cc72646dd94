"""The one app: every wire format, the operations and the page, in front of one service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from thisthat import __version__
from thisthat.serve.formats.chat import chat_router
from thisthat.serve.formats.decide import decide_router
from thisthat.serve.formats.decisions import decisions_router
from thisthat.serve.formats.models import models_router
from thisthat.serve.formats.systemone import systemone_router
from thisthat.serve.http.fast_routes import Shortcut
from thisthat.serve.http.guard import Guard, shape_for
from thisthat.serve.http.operations import operations_router
from thisthat.serve.page import page_router, prompt_router
from thisthat.serve.problems import Problem, response
from thisthat.serve.service import Service

_KINDS = {404: "not_found", 405: "method_not_allowed"}
_CLEARER = {
    "Not Found": "there is nothing at this path; /openapi.json lists what there is",
    "Method Not Allowed": "this path takes another method; /openapi.json says which",
}


def create_app(service: Service) -> ASGIApp:
    """The ASGI app around ``service``; the checkpoint is loaded by whoever runs it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.scheduler.start()
        yield
        await asyncio.to_thread(service.scheduler.close)
        await asyncio.to_thread(service.close_log)

    layers = [Middleware(Guard, service=service)]
    app = FastAPI(
        title="thisthat",
        version=__version__,
        summary="The smart if-statement: typed questions in, probabilities out.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        middleware=layers,
    )
    routers = [
        systemone_router(service),
        chat_router(service),
        decisions_router(service),
        decide_router(service),
        models_router(service),
        operations_router(service),
        page_router(),
        prompt_router(service),
    ]
    for router in routers:
        app.include_router(router)
    app.add_exception_handler(HTTPException, _http_error)
    _describe_keys(app)
    return Shortcut(app, routers, layers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _KINDS.get(error.status_code, "http_error")
    request.state.fields["error"] = kind
    problem = Problem(error.status_code, kind, _CLEARER.get(error.detail, error.detail))
    answer = response(problem, shape_for(request.url.path))
    answer.headers.update(error.headers or {})
    return answer


def _describe_keys(app: FastAPI) -> None:
    build = app.openapi

    def described() -> dict[str, object]:
        document = build()
        components = document.setdefault("components", {})
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        return document

    app.openapi = described  # type: ignore[method-assign]
