"""The HTTP protocol with bounds: on heads, trailers, pipelines, unread answers, and on patience.

uvicorn's own counts none of them. Malformed HTTP never becomes a request, so its refusal is written
here, with an id like all others. Bytes behind a request that is being answered wait unparsed: a
client may send the next request early, but not make the server hold much of it.
"""

from __future__ import annotations

import asyncio
import http
import secrets
import socket
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from thisthat.serve.http.headers import SECURITY_HEADERS, id_headers
from thisthat.serve.http.joined_writes import JoinedWrites
from thisthat.serve.logs import log
from thisthat.serve.memory import Holding, Memory
from thisthat.serve.problems import Problem, response
from thisthat.serve.settings import Settings

STOPPED_READING = "stopped_reading"
"""Set in a request's state when its connection was cut for that reason."""

_LEAST_TAKEN = 8_192
"""Bytes; a client that takes fewer in all that time is not reading, whatever it pretends."""

_KERNEL_BYTES = 16_384
"""What the kernel buffers ahead of the client; with megabytes a slow reader would go unnoticed."""

_CONNECTION_BYTES = 16_384
_SLICE = 4_096
"""How much is parsed before the limits are looked at again."""

_MOST_LATER = 65_536
_MOST_PIPELINED = 32
"""Requests that can be in one slice behind another; each takes so much."""
_PIPELINED_BYTES = 8_192
_MOST_CHUNKS = 65_536
_MOST_DROPPED = 1 << 20


class _TooManyError(Exception):
    """A callback's way to stop the parser."""


def bounded_protocol(
    settings: Settings, memory: Memory, on_error: Callable[[str], None]
) -> type[asyncio.Protocol]:
    """A protocol for uvicorn; ``on_error`` gets the kind of each refusal made here.

    Headers that take longer than ``header_seconds`` close the connection; a head or trailers of
    more than ``header_bytes`` are a 431. A client that reads nothing for ``send_seconds`` loses its
    connection, and with it its place. Beyond ``connections`` the one that has kept the server
    waiting longest makes room.
    """
    awaited: OrderedDict[BoundedProtocol, None] = OrderedDict()

    class BoundedProtocol(HttpToolsProtocol):
        _alarm: asyncio.TimerHandle | None = None
        _unread_alarm: asyncio.TimerHandle | None = None
        _unread = _unsent = _loose = _chunks = _dropped = _queued = 0
        _in_head = _in_message = _gives_up = _progress = False

        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self._held = Holding(memory)
            self._unanswered: list[RequestResponseCycle] = []
            self._later = bytearray()

        # Connection

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(JoinedWrites(transport, self.loop))  # type: ignore[arg-type]
            _show_reading(transport)
            if len(self.connections) > settings.connections and awaited:
                awaited.popitem(last=False)[0].transport.abort()
            elif len(self.connections) > settings.connections:
                self._refuse(_overloaded("too many connections are open"))
                return
            if not self._held.fits(_CONNECTION_BYTES):
                self._refuse(_overloaded("there is no memory for another connection"))
                return
            awaited[self] = None
            self._set_alarm(settings.header_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_alarm()
            self._stop_watching()
            awaited.pop(self, None)
            self._held.release()
            self._later.clear()
            self.pipeline.clear()
            # uvicorn tells only the newest request of a connection.
            for cycle in self._unanswered:
                if not cycle.response_complete:
                    cycle.disconnected = True
                    cycle.message_event.set()
            super().connection_lost(exc)

        # Reading

        def data_received(self, data: bytes) -> None:
            if self._gives_up or self.transport.is_closing():
                self._drop(len(data), _MOST_DROPPED)
                return
            if self._later:
                self._keep(data)
                return
            for start in range(0, len(data), _SLICE):
                if self._is_answering():
                    self._keep(data[start:])
                    return
                self._feed(data[start : start + _SLICE])
                if self._gives_up or self.transport.is_closing():
                    return

        def _is_answering(self) -> bool:
            """Whether a complete request waits for its answer."""
            left = [cycle for cycle in self._unanswered if not cycle.response_complete]
            return len(left) > 1 or (bool(left) and not left[0].more_body)

        def _feed(self, data: bytes) -> None:
            before = self.cycle
            self._progress = False
            super().data_received(data)
            if self.transport.is_closing():
                return
            self._loose = 0 if self._progress else self._loose + len(data)
            if self._loose > settings.header_bytes:
                most = settings.header_bytes
                what = "headers" if self._in_head or not self._in_message else "trailers"
                message = f"the {what} have more than {most} bytes"
                self._refuse(Problem(431, "headers_too_large", message))
            elif self.cycle is not before:
                self._stop_alarm()
            elif self.cycle is None or self.cycle.response_complete:
                if self._in_message and not self._in_head:
                    # The rest of a body that was answered before it was complete.
                    self._drop(len(data), settings.body_bytes)
                elif self._alarm is None:
                    self._set_alarm(settings.header_seconds)

        def _keep(self, data: bytes) -> None:
            """Keep the bytes of later requests for when this one is answered, a few of them."""
            if len(self._later) + len(data) > _MOST_LATER or not self._held.fits(len(data)):
                self._answer_and_close()
            else:
                self._later += data

        def _read_later(self) -> None:
            later = bytes(self._later)
            self._later.clear()
            if not self.transport.is_closing():
                self._held.fits(-len(later))
                self.data_received(later)

        def _drop(self, size: int, most: int) -> None:
            self._dropped += size
            if self._dropped > most:
                self.transport.abort()

        # What the parser finds

        def on_message_begin(self) -> None:
            if len(self.pipeline) >= _MOST_PIPELINED:
                raise _TooManyError
            super().on_message_begin()
            self._in_head = self._in_message = True
            self._chunks = self._dropped = 0

        def on_header(self, name: bytes, value: bytes) -> None:
            # Not a trailer, which is nobody's to trust, and one beyond the limit, to be refused.
            if self._in_head and len(self.headers) <= settings.header_count:
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            before = self.cycle
            super().on_headers_complete()
            self._in_head = False
            self._progress = True
            if self.cycle is not before:
                left = [cycle for cycle in self._unanswered if not cycle.response_complete]
                self._unanswered = [*left, self.cycle]
                if left and not self._held.fits(_PIPELINED_BYTES):
                    raise _TooManyError
                self._queued += bool(left)

        def on_chunk_header(self) -> None:
            self._chunks += 1
            if self._chunks > _MOST_CHUNKS:
                raise _TooManyError

        def on_body(self, body: bytes) -> None:
            self._progress = True
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._progress = True
            self._in_message = False
            if not self.cycle.response_complete:
                awaited.pop(self, None)
            super().on_message_complete()

        # Answering

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self._queued:
                self._queued -= 1
                self._held.fits(-_PIPELINED_BYTES)
            if self.transport.is_closing() or self._is_answering():
                return
            awaited[self] = None
            if self._later:
                self.loop.call_soon(self._read_later)
            elif self._in_message and not self._in_head and self.cycle.response_complete:
                self._set_alarm(settings.body_seconds)

        def send_400_response(self, msg: str) -> None:
            self._refuse(Problem(400, "bad_http", msg))

        def _refuse(self, problem: Problem) -> None:
            """Answer what did not become a request, unless another answer is under way."""
            left = [cycle for cycle in self._unanswered if not cycle.response_complete]
            if any(cycle.response_started or not cycle.more_body for cycle in left):
                self._answer_and_close()
                return
            request_id = secrets.token_hex(16)
            answer = response(problem, "detail")
            headers = [
                *answer.raw_headers,
                *id_headers(request_id),
                *SECURITY_HEADERS.items(),
                (b"connection", b"close"),
            ]
            head = b"".join(b"%s: %s\r\n" % pair for pair in headers)
            phrase = http.HTTPStatus(problem.status).phrase
            status = f"HTTP/1.1 {problem.status} {phrase}\r\n".encode()
            self.transport.write(status + head + b"\r\n" + answer.body)
            self.transport.close()
            on_error(problem.kind)
            log("request", request_id=request_id, status=problem.status, error=problem.kind)

        def _answer_and_close(self) -> None:
            """Finish the answer under way and ignore everything the client sent behind it."""
            self._gives_up = True
            self._held.fits(-len(self._later))
            self._later.clear()
            self.pipeline.clear()
            left = [cycle for cycle in self._unanswered if not cycle.response_complete]
            if left:
                left[0].keep_alive = False
            else:
                self.transport.close()

        # Patience

        def pause_writing(self) -> None:
            super().pause_writing()
            self._unsent = self.transport.get_write_buffer_size()
            if self._held.fits(self._unsent):
                self._watch_reading()
            else:
                self._unsent = 0
                self._cut_off()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._held.fits(-self._unsent)
            self._unsent = 0
            self._stop_watching()

        def _set_alarm(self, seconds: float) -> None:
            self._stop_alarm()
            self._alarm = self.loop.call_later(seconds, self._give_up)

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
            self._cut_off()

        def _cut_off(self) -> None:
            for cycle in self._unanswered:
                cycle.scope["state"][STOPPED_READING] = True
            # Closing would first wait for the client to read the rest.
            self.transport.abort()

    return BoundedProtocol


def _overloaded(message: str) -> Problem:
    return Problem(503, "overloaded", message, retry_ms=1000)


def _show_reading(transport: asyncio.Transport) -> None:
    """Keep the kernel's send buffer small, where the system allows it."""
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    connection = transport.get_extra_info("socket")
    if option is not None and connection is not None and connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, option, _KERNEL_BYTES)
