"""The HTTP protocol with timeouts for headers and for clients that do not read.

Malformed HTTP never becomes a request, so its refusal is written here, with an id like all others.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from thisthat.serve.http.headers import SECURITY_HEADERS, id_headers
from thisthat.serve.http.joined_writes import JoinedWrites
from thisthat.serve.logs import log
from thisthat.serve.problems import Problem, response
from thisthat.serve.settings import Settings

STOPPED_READING = "stopped_reading"
"""Set in a request's state when its connection was cut for that reason."""

_LEAST_TAKEN = 8_192
"""Bytes; a client that takes fewer in all that time is not reading, whatever it pretends."""

_KERNEL_BYTES = 16_384
"""What the kernel buffers ahead of the client; with megabytes a slow reader would go unnoticed."""


def patient_protocol(settings: Settings, on_error: Callable[[str], None]) -> type[asyncio.Protocol]:
    """A protocol for uvicorn; ``on_error`` gets the kind of each refusal made here.

    Headers that take longer than ``header_seconds`` close the connection; headers of more than
    ``header_bytes`` without an end are a 400. A client that reads nothing for ``send_seconds``
    loses its connection, and with it its place.
    """

    class PatientProtocol(HttpToolsProtocol):
        _alarm: asyncio.TimerHandle | None = None
        _unfinished = 0
        _unread_alarm: asyncio.TimerHandle | None = None
        _unread = 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
            _show_reading(transport)
            self._alarm = self.loop.call_later(settings.header_seconds, self._give_up)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                self._unfinished = 0
                self._stop_alarm()
            elif self._expects_headers():
                self._unfinished += len(data)
                if self._unfinished > settings.header_bytes:
                    most = settings.header_bytes
                    self.send_400_response(f"the headers have more than {most} bytes")
                elif self._alarm is None:
                    self._alarm = self.loop.call_later(settings.header_seconds, self._give_up)

        def send_400_response(self, msg: str) -> None:
            problem = Problem(400, "bad_http", msg)
            request_id = secrets.token_hex(16)
            answer = response(problem, "detail")
            headers = [
                *answer.raw_headers,
                *id_headers(request_id),
                *SECURITY_HEADERS.items(),
                (b"connection", b"close"),
            ]
            head = b"".join(b"%s: %s\r\n" % pair for pair in headers)
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + answer.body)
            self.transport.close()
            on_error(problem.kind)
            log("request", request_id=request_id, status=400, error=problem.kind)

        def pause_writing(self) -> None:
            super().pause_writing()
            self._watch_reading()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._stop_watching()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_alarm()
            self._stop_watching()
            super().connection_lost(exc)

        def _expects_headers(self) -> bool:
            idle = self.cycle is None or self.cycle.response_complete
            return idle and not self.transport.is_closing()

        def _stop_alarm(self) -> None:
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None

        def _give_up(self) -> None:
            self._alarm = None
            self.transport.close()

        def _watch_reading(self) -> None:
            self._unread = self.transport.get_write_buffer_size()
            self._unread_alarm = self.loop.call_later(settings.send_seconds, self._check_reading)

        def _stop_watching(self) -> None:
            if self._unread_alarm is not None:
                self._unread_alarm.cancel()
                self._unread_alarm = None

        def _check_reading(self) -> None:
            if self._unread - self.transport.get_write_buffer_size() >= _LEAST_TAKEN:
                self._watch_reading()
                return
            self._unread_alarm = None
            if self.cycle is not None:
                self.cycle.scope["state"][STOPPED_READING] = True
            # Closing would first wait for the client to read the rest.
            self.transport.abort()

    return PatientProtocol


def _show_reading(transport: asyncio.Transport) -> None:
    """Keep the kernel's send buffer small, where the system allows it."""
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    connection = transport.get_extra_info("socket")
    if option is not None and connection is not None and connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, option, _KERNEL_BYTES)
