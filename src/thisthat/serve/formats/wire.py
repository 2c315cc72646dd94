"""What the wire formats share: an operation with its description, and response headers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from thisthat.questions import Decision, Source
from thisthat.serve.problems import Shape
from thisthat.serve.schemas import Schema, schema

JSON = "application/json"
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

SOURCE_PROPERTIES: dict[str, Schema] = schema("source")["properties"]
SOURCE_HEADERS = ("x-thisthat-checkpoint", "x-thisthat-version", "x-thisthat-lambda")


@dataclass(frozen=True, slots=True)
class Operation:
    """An endpoint and its entry in the OpenAPI document, unless it is not ``public``.

    ``answers`` maps content types to schemas. One that ``decides`` takes a deadline.
    """

    path: str
    endpoint: Endpoint
    summary: str = ""
    answers: dict[str, Schema] = field(default_factory=dict)
    request: Schema | None = None
    shape: Shape = "detail"
    method: str = "POST"
    more_statuses: tuple[int, ...] = ()
    decides: bool = False
    public: bool = True


def source_as_json(source: Source) -> dict[str, Any]:
    """Which weights answered, for the body of an answer."""
    return {"checkpoint": source.name, "version": source.version, "lambda": source.lam}


def source_headers(source: Source) -> dict[str, str]:
    """Which weights answered, for the headers of an answer."""
    name, version = quote(source.name, safe=" /:"), quote(source.version, safe=" ")
    return dict(zip(SOURCE_HEADERS, (name, version, f"{source.lam:g}"), strict=True))


def json_answer(body: Mapping[str, Any], decision: Decision) -> Response:
    """A JSON response that names the weights and reports how long the decision itself took."""
    headers = source_headers(decision.source)
    headers["server-timing"] = f"decide;dur={decision.seconds * 1000:.2f}"
    return Response(json.dumps(body), headers=headers, media_type="application/json")
