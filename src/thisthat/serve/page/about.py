"""``GET /page/about``: what a page can ask for: checkpoints, their λ, to teach, the loop."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from thisthat.serve.checkpoints import Loaded
from thisthat.serve.formats.wire import JSON, Operation, source_as_json
from thisthat.serve.schemas import schema
from thisthat.serve.service import Service

PATH = "/page/about"


def about_operations(service: Service) -> list[Operation]:
    """The endpoint; it needs a key where deciding does."""

    async def about(request: Request) -> Response:
        service.admit(request)
        held = service.checkpoints
        loaded = {"default": held.current(), **held.others(), **held.beside()}
        body = {
            "checkpoints": [checkpoint(model, each) for model, each in loaded.items()],
            "teach": teaching(service),
            "loop": service.trials is not None and service.keys.guards("admin"),
        }
        return Response(json.dumps(body), media_type=JSON)

    summary = "What is loaded here, and whether it can be taught and follows a loop"
    return [Operation(PATH, about, summary, {JSON: schema("about answer")}, method="GET")]


def checkpoint(model: str, loaded: Loaded) -> dict[str, Any]:
    """A checkpoint by the name that requests give it; ``lambdas`` None: any from 0 to 1."""
    lambdas = None if loaded.at is not None else sorted(loaded.by_lambda)
    return {"model": model, **source_as_json(loaded.main.source), "lambdas": lambdas}


def teaching(service: Service) -> dict[str, Any] | None:
    """The limits of a teach over HTTP, and whether it takes an admin key; None: nobody may."""
    settings, admin = service.settings, service.keys.guards("admin")
    if service.teacher is None or not (admin or settings.teach):
        return None
    return {
        "admin": admin,
        "rows": settings.teach_rows,
        "states": settings.teach_states,
        "seconds": settings.teach_seconds,
    }
