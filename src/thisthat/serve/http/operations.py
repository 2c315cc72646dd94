"""For those who run the server: health, readiness, metrics, and switching the checkpoint."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST

from thisthat.errors import ThisThatError
from thisthat.serve.formats.fields import optional_lambda, required_text, wrong_type
from thisthat.serve.formats.wire import SOURCE_SCHEMA, add_route, source_as_json
from thisthat.serve.http.body import read_body
from thisthat.serve.http.strict_json import read_json
from thisthat.serve.logs import log, log_unforeseen
from thisthat.serve.problems import Problem, invalid_at
from thisthat.serve.service import Service, draining

HEALTH, READY, METRICS, RELOAD = "/healthz", "/readyz", "/metrics", "/admin/reload"
ALWAYS_OPEN = (HEALTH, READY, METRICS)


def operations_router(service: Service) -> APIRouter:
    """Health, readiness, metrics (all without a key) and reload (with an admin key)."""
    router = APIRouter()

    async def healthz(request: Request) -> Response:
        return _json({"status": "alive"})

    async def readyz(request: Request) -> Response:
        if service.draining:
            raise draining()
        loaded = service.checkpoints.current()
        return _json({"status": "ready", **source_as_json(loaded.main.source)})

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.page(), headers={"content-type": CONTENT_TYPE_LATEST})

    async def reload(request: Request) -> Response:
        check_admin(service, request)
        body = read_json(await read_body(request, service.settings), service.settings.depth)
        ref, lam = _wanted(body, service)
        request_id = request.state.request_id
        try:
            loaded = await asyncio.to_thread(service.checkpoints.load, ref, lam)
        # Everything: whatever opening raises, what was loaded goes on serving.
        except Exception as error:
            foreseen = isinstance(error, ThisThatError)
            what = str(error) if foreseen else f"opening it raised {type(error).__name__}"
            log(
                "reload failed; the old checkpoint keeps serving", request_id=request_id, error=what
            )
            if not foreseen:
                log_unforeseen(request_id, error)
            raise Problem(409, "load_failed", f"{what}; the old checkpoint keeps serving") from None
        log("reloaded", request_id=request_id, **source_as_json(loaded.main.source))
        return _json(source_as_json(loaded.main.source))

    for path, endpoint, summary in (
        (HEALTH, healthz, "Is the process alive?"),
        (READY, readyz, "Is the checkpoint loaded and the server not shutting down?"),
    ):
        add_route(
            router,
            path,
            endpoint,
            summary=summary,
            request=None,
            answers={"application/json": {"type": "object", "required": ["status"]}},
            shape="detail",
            method="GET",
        )
    add_route(
        router,
        METRICS,
        metrics,
        summary="Metrics for Prometheus",
        request=None,
        answers={CONTENT_TYPE_LATEST: {"type": "string"}},
        shape="detail",
        method="GET",
    )
    # Load balancers ask with HEAD; uvicorn sends the headers alone.
    for path, endpoint in ((HEALTH, healthz), (READY, readyz), (METRICS, metrics)):
        router.add_api_route(path, endpoint, methods=["HEAD"], include_in_schema=False)
    add_route(
        router,
        RELOAD,
        reload,
        summary="Switch λ or the checkpoint without dropping a request (admin key)",
        request=REQUEST,
        answers={"application/json": SOURCE_SCHEMA},
        shape="detail",
        more_statuses=(403, 409),
    )
    return router


def check_admin(service: Service, request: Request) -> None:
    """Raise Problem: 403 where there is no admin key, 401 for a key that is not one."""
    if not service.admin_keys:
        raise Problem(403, "no_admin_key", "this server was started without an admin key")
    service.admin_keys.caller(request)


def _wanted(body: Any, service: Service) -> tuple[str, float | None]:
    if not isinstance(body, dict):
        raise wrong_type((), "an object", body)
    unknown = sorted(set(body) - {"checkpoint", "lambda"})
    if unknown:
        raise invalid_at((unknown[0],), "is not known; known are checkpoint and lambda")
    lam = optional_lambda(body)
    if "checkpoint" in body:
        ref = required_text(body, "checkpoint")
        if not ref.strip():
            raise invalid_at(("checkpoint",), "is empty")
        return ref, lam
    if lam is None:
        raise invalid_at((), "names neither a checkpoint nor a lambda")
    return service.checkpoints.current().ref, lam


def _json(body: dict[str, Any]) -> Response:
    return Response(json.dumps(body), media_type="application/json")


REQUEST: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "properties": {
        "checkpoint": {"type": "string", "minLength": 1},
        "lambda": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
