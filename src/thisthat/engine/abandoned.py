"""Closing what nobody holds any more, outside of garbage collection.

A finalizer runs wherever memory happens to be collected: also within a call that holds the very
lock that closing needs. So it only hands over what is to be called, and a thread calls it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue

_calls: SimpleQueue[Callable[[], object]] = SimpleQueue()
_starting = threading.Lock()
_caller: threading.Thread | None = None


def start_caller() -> None:
    """Have a thread that calls what is handed over; a forked process needs one of its own."""
    global _caller
    with _starting:
        if _caller is None or not _caller.is_alive():
            _caller = threading.Thread(target=_call, name="thisthat-closing", daemon=True)
            _caller.start()


def call_soon(call: Callable[[], object]) -> None:
    """Have it called by that thread. Takes no lock, so a finalizer may do it."""
    _calls.put(call)


def _call() -> None:
    while True:
        with suppress(RuntimeError):  # The interpreter ends, and memory with it.
            _calls.get()()
