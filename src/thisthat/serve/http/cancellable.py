"""A block of a coroutine that others can cancel, without a task of its own."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType


class ScopeCancelledError(Exception):
    """The block was cancelled from outside."""


class CancelScope:
    """``with CancelScope() as block:`` raises ScopeCancelledError once ``block.cancel`` is called.

    Inside, that looks like a cancellation. Call ``cancel`` from the event loop's thread; after the
    block it does nothing.
    """

    __slots__ = ("_cancelled", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._cancelled = False

    def __enter__(self) -> CancelScope:
        self._task = asyncio.current_task()
        return self

    def cancel(self, *_: object) -> None:
        """Cancel the block where it waits; ignores the arguments that callbacks get."""
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._task = self._task, None
        if not self._cancelled or task is None:
            return
        # If the whole task was cancelled as well, that cancellation continues.
        if sys.version_info >= (3, 11) and task.uncancel() > 0:
            return
        if kind is asyncio.CancelledError:
            raise ScopeCancelledError from None
