"""For operators: health, readiness, metrics, and switching the checkpoint."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import Response

from thisthat.errors import ThisThatError
from thisthat.serve.formats.admin import ReloadRequest, read_admin
from thisthat.serve.formats.wire import Operation, source_as_json
from thisthat.serve.logs import log, log_unforeseen
from thisthat.serve.problems import Problem
from thisthat.serve.schemas import schema
from thisthat.serve.service import Service, draining

HEALTH, READY, METRICS, RELOAD = "/healthz", "/readyz", "/metrics", "/admin/reload"
ALWAYS_OPEN = (HEALTH, READY, METRICS)


def admin_operations(service: Service) -> list[Operation]:
    """Health, readiness, metrics (all without a key) and reload (with an admin key)."""

    async def healthz(request: Request) -> Response:
        return _json({"status": "alive"})

    async def readyz(request: Request) -> Response:
        if service.draining:
            raise draining()
        loaded = service.checkpoints.current()
        return _json({"status": "ready", **source_as_json(loaded.main.source)})

    async def metrics(request: Request) -> Response:
        page = await asyncio.to_thread(service.metrics_page)
        return Response(page, headers={"content-type": CONTENT_TYPE_LATEST})

    async def reload(request: Request) -> Response:
        check_admin(service, request)
        if service.trials is not None:
            raise Problem(409, "follows_registry", "this server follows a registry: promote there")
        wanted = await service.read_value(request, partial(read_admin, ReloadRequest))
        ref = wanted.checkpoint or service.checkpoints.current().ref
        request_id = request.state.request_id
        try:
            loaded = await asyncio.to_thread(service.reload, ref, wanted.lam)
        # Everything: whatever opening raises, the old checkpoint keeps serving.
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

    alive = {"application/json": {"type": "object", "required": ["status"]}}
    ready = "Is the checkpoint loaded and the server not shutting down?"
    page = {CONTENT_TYPE_LATEST: {"type": "string"}}
    return [
        Operation(HEALTH, healthz, "Is the process alive?", alive, method="GET"),
        Operation(READY, readyz, ready, alive, method="GET"),
        Operation(METRICS, metrics, "Metrics for Prometheus", page, method="GET"),
        Operation(
            RELOAD,
            reload,
            "Switch λ or the checkpoint without dropping a request (admin key)",
            {"application/json": schema("source")},
            ReloadRequest.published(),
            more_statuses=(409,),
        ),
    ]


def check_admin(service: Service, request: Request) -> None:
    """Raise Problem: 403 without any admin key or for another key, 401 for an unknown one."""
    if not service.keys.guards("admin"):
        why = "this server was started without an admin key (--admin-keys FILE)"
        raise Problem(403, "no_admin_key", why)
    request.state.fields["caller"] = service.keys.caller(request, "admin")


def _json(body: dict[str, Any]) -> Response:
    return Response(json.dumps(body), media_type="application/json")
