"""Reading a request's body: its type, its size before and after decompression, its pace.

Nothing beyond a limit is ever held in memory.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress

from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive, Scope

from thisthat.serve.http.cancellable import CancelScope, ScopeCancelledError
from thisthat.serve.memory import Holding
from thisthat.serve.problems import Problem, invalid_at
from thisthat.serve.settings import Settings

_PIECE = 1 << 18
_GZIP = 31
_WINDOW = 1 << 23
_AT_ONCE = 1 << 18
_FREE_BYTES = 1 << 20
_MOST_TIMES = 200
"""Hand-written text never compresses further; a bomb does, and is refused from 1 MiB on."""


async def read_body(request: Request, settings: Settings, reader: Executor) -> bytes | bytearray:
    """The plain bytes of the body, held by ``request.state.memory``; ``reader`` expands large ones.

    Raises Problem: 415 for another content type or encoding, 413 for too many bytes once
    decompressed, 422 for data that does not decompress, 503 when there is no memory for it.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(
            415, "unsupported_media_type", f"the content type is {kind!r}; send application/json"
        )
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "zstd"):
        raise Problem(
            415,
            "unsupported_encoding",
            f"the content encoding is {encoding!r}; known are identity, gzip and zstd",
            headers={"accept-encoding": "gzip, zstd"},
        )
    sent = await _sent(request.receive)
    held: Holding = request.state.memory
    held.add(-len(sent))  # Its pieces are gone.
    if encoding == "identity":
        return sent
    expand = EXPANDERS[encoding]
    most = min(settings.expanded_bytes, max(_FREE_BYTES, _MOST_TIMES * len(sent)))
    try:
        plain = await _expanded(expand, sent, most, held, reader)
    except TooLargeError:
        tight = f", over {_MOST_TIMES} times what was sent"
        when = " after decompression" + (tight if most < settings.expanded_bytes else "")
        raise too_large(most, when) from None
    held.add(-len(sent))
    return plain


Expand = Callable[[bytes, int, Callable[[int], None]], bytearray]


async def _expanded(
    expand: Expand, sent: bytes, most: int, held: Holding, reader: Executor
) -> bytearray:
    before = held.bytes
    # Small bodies, nearly all, are not worth a thread; a bomb would block everybody.
    with suppress(TooLargeError):
        return expand(sent, min(most, _AT_ONCE), held.add)
    if most <= _AT_ONCE:
        raise TooLargeError
    held.add(before - held.bytes)
    return await asyncio.get_running_loop().run_in_executor(reader, expand, sent, most, held.add)


class TooLargeError(Exception):
    """The data expands beyond the limit."""


async def _sent(receive: Receive) -> bytes:
    # Not one buffer that grows: many of them side by side would leave holes between them.
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


class BoundedBody:
    """An ASGI ``receive`` that raises Problem for a body that is too large (413) or slow (408).

    The bytes count as held by the request; without room for them, it raises 503.
    """

    def __init__(self, scope: Scope, receive: Receive, settings: Settings) -> None:
        self._receive = receive
        self._settings = settings
        self._held: Holding = scope["state"]["memory"]
        self._size = 0
        self._complete = False
        self._until: float | None = None
        announced = dict(scope["headers"]).get(b"content-length", b"")
        self._announced = int(announced) if announced.isdigit() else 0

    async def __call__(self) -> Message:
        """The next message; after the body there is no limit, only a client that may disconnect."""
        if self._complete:
            return await self._receive()
        if self._announced > self._settings.body_bytes:
            raise too_large(self._settings.body_bytes)
        message = await self._in_time()
        size = len(message.get("body", b""))
        self._size += size
        self._complete = not message.get("more_body", False)
        if self._size > self._settings.body_bytes:
            raise too_large(self._settings.body_bytes)
        # Twice: pieces of many bodies side by side leave gaps, and joining them makes a copy.
        self._held.add(2 * size)
        return message

    async def _in_time(self) -> Message:
        loop = asyncio.get_running_loop()
        if self._until is None:
            self._until = loop.time() + self._settings.body_seconds
        block = CancelScope()
        alarm = loop.call_at(self._until, block.cancel)
        try:
            with block:
                return await self._receive()
        except ScopeCancelledError:
            raise Problem(
                408,
                "slow_body",
                f"the body did not arrive within {self._settings.body_seconds:g} seconds",
                headers={"connection": "close"},
            ) from None
        finally:
            alarm.cancel()


def too_large(limit: int, when: str = "") -> Problem:
    """413, naming the limit."""
    return Problem(
        413,
        "body_too_large",
        f"the body is larger than {limit} bytes{when}",
        headers={"connection": "close"},
    )


def _expand_gzip(sent: bytes, limit: int, hold: Callable[[int], None]) -> bytearray:
    reader = zlib.decompressobj(_GZIP)
    plain = bytearray()
    read = 0
    try:
        while read < len(sent) and not reader.eof:
            left = sent[read : read + _PIECE]
            read += len(left)
            while (piece := reader.decompress(left, _PIECE)) or reader.unconsumed_tail:
                _take(plain, piece, limit, hold)
                left = reader.unconsumed_tail
    except zlib.error as error:
        raise invalid_at((), f"is not gzip: {error}", "encoding") from None
    if not reader.eof:
        raise invalid_at((), "is cut off: the gzip stream has no end", "encoding")
    if reader.unused_data or read < len(sent):
        raise invalid_at((), "continues after the end of its gzip stream", "encoding")
    return plain


def _take(plain: bytearray, piece: bytes, limit: int, hold: Callable[[int], None]) -> None:
    if len(plain) + len(piece) > limit:
        raise TooLargeError
    hold(len(piece))
    plain += piece


def _expand_zstd(sent: bytes, limit: int, hold: Callable[[int], None]) -> bytearray:
    import zstandard

    plain = bytearray()
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with decompressor.stream_reader(sent, read_across_frames=True) as reader:
            while piece := reader.read(_PIECE):
                _take(plain, piece, limit, hold)
        # Most streams declare their length; the others cannot be checked for truncation.
        announced = zstandard.frame_content_size(sent)
    except zstandard.ZstdError as error:
        raise invalid_at((), f"is not zstd: {error}", "encoding") from None
    if len(plain) < announced:
        raise invalid_at((), "is cut off: the zstd stream has no end", "encoding")
    return plain


EXPANDERS: dict[str, Expand] = {"gzip": _expand_gzip, "zstd": _expand_zstd}
"""By content encoding: a body, the most bytes it may expand to, and what counts them."""
