"""``GET /v1/models``: the names that are answered to, in both shapes that clients expect."""

from __future__ import annotations

import json
from datetime import datetime, time, timezone
from typing import Any

from fastapi import APIRouter, Request, Response

from thisthat.serve.checkpoints import Loaded
from thisthat.serve.problems import Problem
from thisthat.serve.service import Service
from thisthat.serve.wire import add_route, source_headers


def models_router(service: Service) -> APIRouter:
    """The list, and one entry of it."""
    router = APIRouter()

    async def models(request: Request) -> Response:
        service.admit(request)
        loaded = service.checkpoints.current()
        names = service.checkpoints.names()
        body = {
            "object": "list",
            "data": [openai_entry(name, loaded) for name in names],
            "models": [systemone_entry(name, loaded) for name in names],
        }
        return _answer(body, loaded)

    async def model(request: Request, name: str) -> Response:
        service.admit(request)
        loaded = service.checkpoints.current()
        known = service.checkpoints.names()
        if name not in known:
            raise Problem(
                404,
                "model_not_found",
                f"the model {name[:200]!r} is not known here; known are {', '.join(known)}",
            )
        return _answer({**openai_entry(name, loaded), **systemone_entry(name, loaded)}, loaded)

    add_route(
        router,
        "/v1/models",
        models,
        summary="The model names that are answered to",
        request=None,
        answers={"application/json": RESPONSE},
        shape="openai",
        method="GET",
    )
    add_route(
        router,
        "/v1/models/{name}",
        model,
        summary="One model",
        request=None,
        answers={"application/json": {"type": "object", "required": ["id", "name"]}},
        shape="openai",
        method="GET",
    )
    return router


def openai_entry(name: str, loaded: Loaded) -> dict[str, Any]:
    """A model as OpenAI clients read it."""
    created = datetime.combine(loaded.since, time(), timezone.utc)
    return {
        "id": name,
        "object": "model",
        "created": int(created.timestamp()),
        "owned_by": "thisthat",
    }


def systemone_entry(name: str, loaded: Loaded) -> dict[str, Any]:
    """A model as systemone clients read it; the date is the day it was loaded."""
    source = loaded.main.source
    return {
        "name": name,
        "description": f"{source.name} {source.version}, λ = {source.lam:g}",
        "release_date": loaded.since.isoformat(),
    }


def _answer(body: dict[str, Any], loaded: Loaded) -> Response:
    headers = source_headers(loaded.main.source)
    return Response(json.dumps(body), headers=headers, media_type="application/json")


RESPONSE: dict[str, Any] = {
    "type": "object",
    "required": ["object", "data", "models"],
    "properties": {
        "object": {"const": "list"},
        "data": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "object", "created", "owned_by"],
            },
        },
        "models": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "description", "release_date"],
                "properties": {"release_date": {"type": "string", "format": "date"}},
            },
        },
    },
}
