"""What the wire formats share: a route with its description, and the headers of an answer."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from thisthat.questions import Decision, Source
from thisthat.serve.problems import DETAIL_SCHEMA, OPENAI_SCHEMA, Shape
from thisthat.serve.scheduling.deadline import PARAMETER

Endpoint = Callable[..., Awaitable[Response]]

TEXT_SCHEMA: dict[str, Any] = {
    "anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array"}],
}
SOURCE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["checkpoint", "version", "lambda"],
    "properties": {
        "checkpoint": {"type": "string"},
        "version": {"type": "string"},
        "lambda": {"type": "number", "minimum": 0, "maximum": 1},
    },
}
SOURCE_HEADERS = ("x-thisthat-checkpoint", "x-thisthat-version", "x-thisthat-lambda")
PROBABILITY_SCHEMA: dict[str, Any] = {"type": "number", "minimum": 0, "maximum": 1}

_WORDS = re.compile(r"\w+")
_MEANINGS = {
    400: "The request cannot be used; the message says which field and why.",
    401: "The key is missing or unknown.",
    403: "The server has no admin key.",
    404: "The model name is not known; the message lists the known ones.",
    408: "The body came too slowly.",
    409: "The checkpoint could not be loaded; the old one keeps serving.",
    413: "The body is too large, before or after decompression.",
    415: "The content type or encoding is not known.",
    422: "The body cannot be used; every fault with its place.",
    429: "Too many requests; see retry-after-ms.",
    431: "Too many or too large headers.",
    503: "Loading, overloaded, past its deadline or shutting down; see retry-after-ms.",
}


class PlainRoute(APIRoute):
    """A route whose endpoint takes the request itself, so there is nothing to look up for it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The endpoint as it is."""
        return self.endpoint


def add_route(
    router: APIRouter,
    path: str,
    endpoint: Endpoint,
    *,
    summary: str,
    request: Mapping[str, Any] | None,
    answers: Mapping[str, Mapping[str, Any]],
    shape: Shape,
    method: str = "POST",
    more_statuses: Sequence[int] = (),
    decides: bool = False,
) -> None:
    """Add an endpoint and say in the OpenAPI document what goes in and out.

    ``answers`` maps content types to schemas. One that ``decides`` takes a deadline.
    """
    statuses = [401, 404, 408, 413, 415, 422, 429, 431, 503]
    if shape == "openai":
        statuses[statuses.index(422)] = 400
    if request is None:
        statuses = [401, 404, 429, 431, 503]
    schema = OPENAI_SCHEMA if shape == "openai" else DETAIL_SCHEMA
    described: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The answer.",
            "content": {kind: {"schema": dict(each)} for kind, each in answers.items()},
        }
    }
    for status in (*statuses, *more_statuses):
        described[status] = {
            "description": _MEANINGS[status],
            "content": {"application/json": {"schema": schema}},
        }
    extra: dict[str, Any] = {"security": [{"key": []}, {}]}
    if request is not None:
        extra["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": dict(request)}},
        }
    if decides:
        extra["parameters"] = [PARAMETER]
    router.add_api_route(
        path,
        endpoint,
        methods=[method],
        summary=summary,
        responses=described,
        response_class=Response,
        openapi_extra=extra,
        route_class_override=None if "{" in path else PlainRoute,
        operation_id="_".join([method.lower(), *_WORDS.findall(path.replace(":path", ""))]),
    )


def source_as_json(source: Source) -> dict[str, Any]:
    """Which weights answered, for the body of an answer."""
    return {"checkpoint": source.name, "version": source.version, "lambda": source.lam}


def source_headers(source: Source) -> dict[str, str]:
    """Which weights answered, for the headers of an answer."""
    name, version = quote(source.name, safe=" /:"), quote(source.version, safe=" ")
    return dict(zip(SOURCE_HEADERS, (name, version, f"{source.lam:g}"), strict=True))


def json_answer(body: Mapping[str, Any], decision: Decision) -> Response:
    """A JSON response that names the weights and says how long the decision itself took."""
    headers = source_headers(decision.source)
    headers["server-timing"] = f"decide;dur={decision.seconds * 1000:.2f}"
    return Response(json.dumps(body), headers=headers, media_type="application/json")
