"""``GET /v1/models``: the names the server answers to, in every shape clients expect.

``data`` is for OpenAI's clients and, with more fields, OpenRouter's; ``models`` for systemone's.
"""

from __future__ import annotations

import json
from datetime import datetime, time, timezone
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from thisthat.serve.checkpoints import Loaded
from thisthat.serve.formats.wire import JSON, Operation, source_headers
from thisthat.serve.schemas import schema
from thisthat.serve.service import Service

_MODALITIES = {"input_modalities": ["text"], "output_modalities": ["decisions"]}
_PROVIDER = {"is_moderated": False, "max_completion_tokens": 0}


def models_operations(service: Service) -> list[Operation]:
    """The list, and one entry of it."""

    async def models(request: Request) -> Response:
        service.admit(request)
        loaded = service.checkpoints.current()
        found = service.checkpoints.by_name()
        body = {
            "object": "list",
            "data": [openai_entry(name, each) for name, each in found.items()],
            "models": [systemone_entry(name, each) for name, each in found.items()],
            "links": {"next": None},
            "total_count": len(found),
        }
        return _answer(body, loaded)

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if not name:
            return await models(request)
        service.admit(request)
        loaded = service.checkpoints.named(name)
        return _answer({**openai_entry(name, loaded), **systemone_entry(name, loaded)}, loaded)

    get = partial(Operation, shape="openai", method="GET")
    listed = {JSON: schema("models answer")}
    one = {JSON: {"type": "object", "required": ["id", "name"]}}
    return [
        get("/v1/models", models, "The model names that are answered to", listed),
        get("/v1/models/{name:path}", model, "One model", one),
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
        "architecture": {**_MODALITIES, "modality": "text->decisions"},
        "pricing": {"prompt": "0", "completion": "0"},
        "top_provider": _PROVIDER | {"context_length": tokens},
        "supported_parameters": ["response_format", "structured_outputs", "logprobs"],
        "default_parameters": None,
        "per_request_limits": None,
        "supported_voices": None,
        "links": {"details": f"/v1/models/{quote(name, safe='')}"},
    }


def systemone_entry(name: str, loaded: Loaded) -> dict[str, Any]:
    """A model as systemone clients read it."""
    described, released = _description(loaded), loaded.released.isoformat()
    return {"name": name, "description": described, "release_date": released}


def _description(loaded: Loaded) -> str:
    source = loaded.main.source
    return f"{source.name} {source.version}, λ = {source.lam:g}"


def _answer(body: dict[str, Any], loaded: Loaded) -> Response:
    headers = source_headers(loaded.main.source)
    return Response(json.dumps(body), headers=headers, media_type="application/json")
