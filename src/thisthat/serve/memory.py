"""One budget for the memory of everything in flight: heads, bodies, values, queued work, answers.

What is about to be held is counted before it is built. The last third is for small requests: a
few large ones never turn away everybody else.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable

from thisthat.serve.problems import Problem

SMALL = 1 << 16
_RETRY_MS = 1000


def give_back() -> None:
    """Return freed memory to the system: the C library of Linux keeps it until it is told to."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


class Memory:
    """Counts the bytes held by all requests together. Safe from any thread."""

    def __init__(self, most_bytes: int, on_relief: Callable[[], object] = lambda: None) -> None:
        """``on_relief`` is called when little is held after much was, and after much was let go."""
        self.most_bytes = most_bytes
        self.used = 0
        self._on_relief = on_relief
        self._peak = 0
        self._let_go = 0
        self._lock = threading.Lock()

    @property
    def large_bytes(self) -> int:
        """What large requests may hold together."""
        return self.most_bytes - self.most_bytes // 3

    def change(self, before: int, after: int) -> bool:
        """Let one holder have ``after`` bytes instead of ``before``; False if there is no room."""
        with self._lock:
            used = self.used - before + after
            limit = self.most_bytes if after <= SMALL else self.large_bytes
            if after > before and used > limit:
                return False
            self.used = used
            self._peak = max(self._peak, used)
            self._let_go += max(0, before - after)
            relieved = used < self.most_bytes // 16 and self._peak > self.most_bytes // 8
            relieved |= self._let_go > self.most_bytes // 8
            if relieved:
                self._peak = self._let_go = 0
        if relieved:
            self._on_relief()
        return True


class Holding:
    """What one request or connection holds."""

    __slots__ = ("_memory", "_released", "bytes")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._released = False
        self.bytes = 0

    def add(self, size: int) -> None:
        """Hold so many bytes more, or fewer.

        Raises Problem: 413 for what would never fit, 503 for what does not fit now.
        """
        if not self.fits(size):
            wanted, most = self.bytes + size, self._memory.large_bytes
            if wanted > most:
                raise Problem(
                    413,
                    "request_too_large",
                    f"the request would take {wanted} bytes of memory; one may take {most}",
                    headers={"connection": "close"},
                )
            raise Problem(
                503,
                "overloaded",
                f"{self._memory.used} bytes of memory are in use by other requests; "
                f"retry in {_RETRY_MS} ms",
                retry_ms=_RETRY_MS,
            )

    def fits(self, size: int) -> bool:
        """Hold so many bytes more, or fewer; False if there is no room for them."""
        # A thread may still be at work for a client that has left.
        if self._released or not self._memory.change(self.bytes, self.bytes + size):
            return False
        self.bytes += size
        return True

    def release(self) -> None:
        """Hold nothing any more, and never again."""
        self.fits(-self.bytes)
        self._released = True
