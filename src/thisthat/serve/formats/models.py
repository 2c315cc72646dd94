"""``GET /v1/models``: the names the server answers to, in every shape clients expect.

``data`` is for OpenAI's clients and, with more fields, OpenRouter's; ``models`` for systemone's.
"""

from __future__ import annotations

import json
from datetime import datetime, time, timezone
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from thisthat.serve.checkpoints import Loaded
from thisthat.serve.formats.wire import Operation, source_headers
from thisthat.serve.problems import Problem
from thisthat.serve.schemas import schema
from thisthat.serve.service import Service


def models_operations(service: Service) -> list[Operation]:
    """The list, and one entry of it."""

    async def models(request: Request) -> Response:
        service.admit(request)
        loaded = service.checkpoints.current()
        names = service.checkpoints.names()
        body = {
            "object": "list",
            "data": [openai_entry(name, loaded) for name in names],
            "models": [systemone_entry(name, loaded) for name in names],
            "links": {"next": None},
            "total_count": len(names),
        }
        return _answer(body, loaded)

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if not name:
            return await models(request)
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

    return [
        Operation(
            "/v1/models",
            models,
            summary="The model names that are answered to",
            answers={"application/json": schema("models answer")},
            shape="openai",
            method="GET",
        ),
        Operation(
            "/v1/models/{name:path}",
            model,
            summary="One model",
            answers={"application/json": {"type": "object", "required": ["id", "name"]}},
            shape="openai",
            method="GET",
        ),
    ]


def openai_entry(name: str, loaded: Loaded) -> dict[str, Any]:
    """A model as OpenAI and OpenRouter clients read it; the latter require every field."""
    created = datetime.combine(loaded.released, time(), timezone.utc)
    tokens = loaded.main.reading.path_tokens
    return {
        "id": name,
        "object": "model",
        "created": int(created.timestamp()),
        "owned_by": "thisthat",
        "name": name,
        "canonical_slug": loaded.name,
        "description": _description(loaded),
        "context_length": tokens,
        "architecture": {
            "input_modalities": ["text"],
            "output_modalities": ["decisions"],
            "modality": "text->decisions",
        },
        "pricing": {"prompt": "0", "completion": "0"},
        "top_provider": {
            "is_moderated": False,
            "context_length": tokens,
            "max_completion_tokens": 0,
        },
        "supported_parameters": ["response_format", "structured_outputs", "logprobs"],
        "default_parameters": None,
        "per_request_limits": None,
        "supported_voices": None,
        "links": {"details": f"/v1/models/{quote(name, safe='')}"},
    }


def systemone_entry(name: str, loaded: Loaded) -> dict[str, Any]:
    """A model as systemone clients read it."""
    return {
        "name": name,
        "description": _description(loaded),
        "release_date": loaded.released.isoformat(),
    }


def _description(loaded: Loaded) -> str:
    source = loaded.main.source
    return f"{source.name} {source.version}, λ = {source.lam:g}"


def _answer(body: dict[str, Any], loaded: Loaded) -> Response:
    headers = source_headers(loaded.main.source)
    return Response(json.dumps(body), headers=headers, media_type="application/json")
