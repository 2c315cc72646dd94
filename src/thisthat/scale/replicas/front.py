"""The front: reads a request's body, finds its schema and passes it on to the schema's replica."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from thisthat.serve.http.body import EXPANDERS, TooLargeError, too_large
from thisthat.serve.http.guard import shape_for
from thisthat.serve.problems import Problem, response
from thisthat.serve.settings import Settings

_READ = 1 << 20
"""Bytes of a body in which its schema is looked for; longer ones go where there is room."""
_SCHEMA = ("questions", "response_format")
_CALLER = (b"authorization", b"x-api-key")
_ID = b"x-request-id"
"""Ray gives every request one, which the replica logs as the client's; another would confuse."""
_PASSED = "type http_version method scheme path raw_path query_string root_path headers client"


def schema_key(headers: Mapping[bytes, bytes], body: bytes) -> str | None:
    """What requests of one caller and one schema share; None where there is no schema to find."""
    try:
        encoding = headers.get(b"content-encoding", b"identity").strip().lower().decode()
        if (expand := EXPANDERS.get(encoding)) is not None:
            body = bytes(expand(body, _READ, lambda _: None))
        value = None if len(body) > _READ else json.loads(body)
    except (TooLargeError, Problem, ValueError, RecursionError):
        return None  # The replica says what is wrong with it.
    schema = [value.get(name) for name in _SCHEMA] if isinstance(value, dict) else []
    if not any(schema):
        return None
    caller = b" ".join(headers.get(name, b"") for name in _CALLER)
    told = json.dumps(schema, sort_keys=True).encode(errors="surrogatepass")
    return blake2b(caller + b"\n" + told, digest_size=16).hexdigest()


class Front:
    """Ray Serve's entrance: passes every request on, and its answer back as it comes.

    ``replicas`` is Ray Serve's handle of them. Where a replica dies with a request, the client
    gets a 503 that it may try again.
    """

    def __init__(self, settings: Settings, replicas: Any) -> None:
        self._settings = settings
        self._replicas = replicas.options(method_name="answer", stream=True)

    async def __call__(self, request: Request) -> Response:
        """The answer to one request."""
        seconds = self._settings.body_seconds
        try:
            body = await asyncio.wait_for(self._body(request), seconds)
        except Problem as problem:
            return response(problem, shape_for(request.url.path))
        except ClientDisconnect:
            return Response(status_code=499)
        except asyncio.TimeoutError:
            message = f"the body did not arrive within {seconds:g} seconds"
            return response(Problem(408, "slow_body", message), shape_for(request.url.path))
        scope = {name: request.scope[name] for name in _PASSED.split() if name in request.scope}
        key = schema_key(dict(scope["headers"]), body)
        handle = self._replicas if key is None else self._replicas.options(session_id=key)
        return _Passed(handle, scope, body)

    async def _body(self, request: Request) -> bytes:
        most, size, parts = self._settings.body_bytes, 0, []
        async for part in request.stream():
            parts.append(part)
            size += len(part)
            if size > most:
                raise too_large(most)
        return b"".join(parts)


class _Passed(Response):
    """A replica's answer, message by message."""

    def __init__(self, handle: Any, asked: Mapping[str, Any], body: bytes) -> None:
        super().__init__()
        self._handle, self._asked, self._body = handle, asked, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer; where the client goes, Ray cancels what was asked for it."""
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        answer = self._handle.remote(self._asked, self._body)
        started, whole, head = False, False, None
        try:
            async for messages in answer:
                for message in messages:
                    # The head waits for the first of the body: until then a 503 can replace it.
                    if message["type"] == "http.response.start":
                        kept = [each for each in message["headers"] if each[0] != _ID]
                        head = {**message, "headers": kept}
                        continue
                    if head is not None:
                        started = True
                        await send(head)
                        head = None
                    await send(message)
                    whole = not message.get("more_body", False)
        except (RayError, RayServeException) as error:
            if whole:
                return  # The replica died with nothing left to say.
            if started:
                raise
            lost = Problem(
                503,
                "replica_lost",
                f"the replica that had this request is gone ({type(error).__name__}); try again",
                retry_ms=500,
            )
            await response(lost, shape_for(scope["path"]))(scope, receive, send)
