"""The OpenAPI document: what every operation takes, answers and refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from thisthat.serve.formats.wire import Operation
from thisthat.serve.schemas import Schema, schema

_WORDS = re.compile(r"\w+")
_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
_MEANINGS = {
    400: "The request cannot be used; the message says which field and why.",
    401: "The key is missing or unknown.",
    403: "The key is not for this, or the server has no admin key.",
    404: "The model name is not known; the message lists the known ones.",
    408: "The body came too slowly.",
    409: "The checkpoint cannot be loaded and the old one stays; no log, no loop, or it refuses.",
    413: "The body is too large, before or after decompression, or would take too much memory.",
    415: "The content type or encoding is not known.",
    421: "The request names a host that this server does not answer to.",
    422: "The body cannot be used; every fault with its place.",
    429: "Too many requests; see retry-after-ms.",
    431: "Too many or too large headers.",
    500: "The teaching process ended early; the message says why.",
    503: "Loading, overloaded, past its deadline or shutting down; see retry-after-ms.",
    504: "Teaching took longer than it may.",
}


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    """The document about these operations."""
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        path = _PARAMETER.sub(r"{\1}", each.path)
        paths.setdefault(path, {})[each.method.lower()] = _described(each, path)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "thisthat",
            "summary": "The smart if-statement: typed questions in, probabilities out.",
            "version": version("thisthat"),
        },
        "paths": paths,
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _described(operation: Operation, path: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": "_".join([operation.method.lower(), *_WORDS.findall(path)]),
        "responses": {
            "200": {"description": "The answer.", "content": _content(operation.answers)},
            **{str(status): _refusal(status, operation) for status in _statuses(operation)},
        },
        "security": [{"key": []}, {}],
    }
    if operation.request is not None:
        content = _content({"application/json": operation.request})
        described["requestBody"] = {"required": True, "content": content}
    parameters = [_path_parameter(name) for name in _PARAMETER.findall(operation.path)]
    if operation.decides:
        parameters.append(schema("timeout header"))
    return {**described, "parameters": parameters} if parameters else described


def _statuses(operation: Operation) -> list[int]:
    if operation.request is None:
        return [401, 403, 404, 421, 429, 431, 503, *operation.more_statuses]
    invalid = 400 if operation.shape == "openai" else 422
    return [401, 403, 404, 408, 413, 415, 421, invalid, 429, 431, 503, *operation.more_statuses]


def _refusal(status: int, operation: Operation) -> dict[str, Any]:
    content = _content({"application/json": schema(f"{operation.shape} problem")})
    return {"description": _MEANINGS[status], "content": content}


def _content(schemas: dict[str, Schema]) -> dict[str, Any]:
    return {kind: {"schema": each} for kind, each in schemas.items()}


def _path_parameter(name: str) -> dict[str, Any]:
    text = {"type": "string", "title": name.title()}
    return {"name": name, "in": "path", "required": True, "schema": text}
