"""A transport that sends the head of a response together with what follows it.

The HTTP protocol writes head and body one after the other. Sent apart, the head wakes the client,
which on a busy machine takes the server's core to read it and then waits for the body.
"""

from __future__ import annotations

import asyncio
from typing import Any


class JoinedWrites:
    """Holds a write until the next one or the next turn of the event loop; else ``transport``."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Hold ``data``, or send it with the held bytes."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held + data)
        elif data:
            self._held = bytes(data)
            self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Send the held bytes, unless the connection is gone: then some event loops raise."""
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)

    def close(self) -> None:
        """Send the held bytes, then close."""
        self.flush()
        self._transport.close()
