"""Around every request: an id, header limits, security headers, clean errors, a log line.

Plain ASGI, so that it costs little and sees everything, streams included.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Iterable

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thisthat.audit.beside import RequestId
from thisthat.audit.played import PLAYED
from thisthat.errors import InvalidInputError
from thisthat.remote.untaught_header import NAME as UNTAUGHT
from thisthat.serve.http.body import BoundedBody
from thisthat.serve.http.cors import for_browsers
from thisthat.serve.http.headers import PLAYGROUND, SECURITY_HEADERS, id_headers
from thisthat.serve.http.operations import ALWAYS_OPEN
from thisthat.serve.http.protocol import STOPPED_READING
from thisthat.serve.logs import log, log_unforeseen
from thisthat.serve.memory import Holding
from thisthat.serve.problems import Problem, Shape, from_invalid_input, response, without_frames
from thisthat.serve.service import ClientDisconnectedError, Service, draining
from thisthat.serve.traces import Span

_CLIENT_WENT = 499
_REQUEST_BYTES = 1 << 14
"""What a request takes before its body: its task, its head, its log line."""
_CLIENT_ID = "client_request_id"
_SANE_ID = re.compile(rb"[\x20-\x7e]{1,128}")

_PORT = re.compile(rb":\d*$")

_OPENAI_PATHS = ("/v1/chat/", "/v1/decisions", "/v1/models")


def shape_for(path: str) -> Shape:
    """The error format of a path."""
    return "openai" if path.startswith(_OPENAI_PATHS) else "detail"


class Guard:
    """ASGI middleware that every request goes through."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._origins = service.settings.cors_origins
        self._app = for_browsers(app, self._origins)
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        visit = _Visit(scope, self._service)
        try:
            with self._service.traces.request(scope["headers"]) as span:
                try:
                    await self._answer(visit, scope, receive, send)
                finally:
                    visit.describe(span)
        finally:
            visit.leave()

    async def _answer(self, visit: _Visit, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.mark(message)
            await send(message)
            visit.finished = not message.get("more_body", message["type"] != "http.response.body")

        try:
            visit.check()
            bounded = BoundedBody(scope, receive, self._service.settings)
            await self._app(scope, bounded, send_marked)
            # A stream ends silently when its client has disconnected.
            if visit.started and not visit.finished:
                visit.client_went()
        except (ClientDisconnectedError, ClientDisconnect) as error:
            without_frames(error)
            visit.client_went()
        except asyncio.CancelledError:
            visit.kind = "cut_off"
            raise
        # Everything: an unforeseen error must still be a 500 in the server's own shape, logged with
        # the request's id; Starlette's default would tell operators less.
        except Exception as error:
            problem = visit.problem(error)
            if visit.started:
                # The status is already sent; all we can do is break off visibly.
                raise
            without_frames(error)
            answer: Response = response(problem, shape_for(scope["path"]))
            await for_browsers(answer, self._origins)(scope, receive, send_marked)


class _Visit:
    """One request on its way through."""

    def __init__(self, scope: Scope, service: Service) -> None:
        self.id = (PLAYED if _plays(scope["headers"]) else "") + secrets.token_hex(16)
        self.status = 500
        self.kind: str | None = None
        self.started = False
        self.finished = False
        self._scope = scope
        self._service = service
        self._clock = time.perf_counter()
        self._fields: dict[str, object] = {}
        self._counted = scope["path"] not in ALWAYS_OPEN
        scope.setdefault("state", {})["fields"] = self._fields
        client = None if service.log is None else client_id(scope["headers"])
        scope["state"]["request_id"] = RequestId(self.id, (client or {}).get(_CLIENT_ID))
        self._held = scope["state"]["memory"] = Holding(service.memory)
        self._was_draining = service.draining
        if self._counted and not self._was_draining:
            service.in_flight += 1

    @property
    def route(self) -> str:
        """The path of the route, not the one a client sent."""
        found = self._scope.get("route")
        return getattr(found, "path_format", "unknown")

    def check(self) -> None:
        """Raise Problem for headers beyond the limits and for requests that arrive too late."""
        settings = self._service.settings
        headers = self._scope["headers"]
        size = sum(len(name) + len(value) for name, value in headers)
        size += len(self._scope.get("raw_path") or b"") + len(self._scope["query_string"])
        if len(headers) > settings.header_count or size > settings.header_bytes:
            raise Problem(
                431,
                "headers_too_large",
                f"{len(headers)} headers of {size} bytes with the path; at most "
                f"{settings.header_count} headers of {settings.header_bytes} bytes are read",
            )
        self._held.add(_REQUEST_BYTES)
        if self._counted and not self._names_known_host():
            raise Problem(
                421,
                "unknown_host",
                "this server does not answer to the host that the request names; "
                "--allowed-host adds one",
            )
        if self._counted and self._was_draining:
            raise draining()

    def _names_known_host(self) -> bool:
        known = self._service.known_hosts
        if known is None:
            return True
        hosts = [value for name, value in self._scope["headers"] if name == b"host"]
        named = [_PORT.sub(b"", host).decode("latin-1").lower() for host in hosts]
        return len(named) == 1 and named[0] in known

    def mark(self, message: Message) -> None:
        """Add the id, what was not taught and the security headers to the start of a response."""
        self.started = True
        self.status = message["status"]
        headers = message.setdefault("headers", [])
        present = {name.lower() for name, _ in headers}
        headers += id_headers(self.id)
        if "untaught" in self._fields:
            headers.append((UNTAUGHT.encode(), str(self._fields["untaught"]).encode()))
        headers += [pair for pair in SECURITY_HEADERS.items() if pair[0] not in present]

    def client_went(self) -> None:
        """The response did not reach its client, which left or stopped reading."""
        self.status = _CLIENT_WENT
        self.kind = STOPPED_READING if self._scope["state"].get(STOPPED_READING) else "client_gone"

    def problem(self, error: Exception) -> Problem:
        """The problem behind an error; unforeseen errors are logged, never shown."""
        if isinstance(error, InvalidInputError):
            error = from_invalid_input(error)
        if not isinstance(error, Problem):
            log_unforeseen(self.id, error)
            error = Problem(500, "internal", f"internal error; request {self.id}")
        self.kind = error.kind
        self.status = error.status
        return error

    def describe(self, span: Span) -> None:
        """Record in a span what was asked and how it was answered."""
        kind = self.kind or self._fields.get("error")
        error = None if kind is None else str(kind)
        span.answered(self._scope["method"], self.route, self.status, error)
        if self.route.startswith("/v1/"):
            span.tell({"format": self.route.removeprefix("/v1/")})
        span.tell({**self._fields, "request_id": self.id})

    def leave(self) -> None:
        """Finish the request; counting and logging follow once the response is on its way."""
        self._held.release()
        if self._counted and not self._was_draining:
            self._service.in_flight -= 1
        seconds = time.perf_counter() - self._clock
        asyncio.get_running_loop().call_soon(self._note, seconds)

    def _note(self, seconds: float) -> None:
        """Count the request and write its log line."""
        metrics = self._service.metrics
        metrics.requests.labels(self.route, str(self.status)).inc()
        kind = self.kind or self._fields.pop("error", None)
        if kind is not None:
            metrics.errors.labels(str(kind)).inc()
        if self._counted:
            metrics.stages.labels("total").observe(seconds)
        level = logging.INFO if self._counted else logging.DEBUG
        log(
            "request",
            level,
            request_id=self.id,
            method=self._scope["method"],
            path=self._scope["path"],
            status=self.status,
            ms=round(seconds * 1000, 2),
            **({} if kind is None else {"error": kind}),
            **client_id(self._scope["headers"]),
            **self._fields,
        )


def _plays(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether the playground asks."""
    return any(name == PLAYGROUND for name, _ in headers)


def client_id(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The client's own ``x-request-id`` as a log field, if printable and short."""
    for name, value in headers:
        if name == b"x-request-id" and _SANE_ID.fullmatch(value):
            return {_CLIENT_ID: value.decode("ascii")}
    return {}
