"""A block of a coroutine that somebody else can end, at the cost of no task of its own."""

from __future__ import annotations

import asyncio
import sys
from types import TracebackType


class BrokenOffError(Exception):
    """The block was ended from outside."""


class Breakable:
    """``with Breakable() as block:`` raises BrokenOffError once ``block.break_off`` was called.

    Inside, that looks like a cancellation. Call ``break_off`` from the event loop's thread; after
    the block it does nothing.
    """

    __slots__ = ("_broken", "_task")

    def __init__(self) -> None:
        self._task: asyncio.Task[object] | None = None
        self._broken = False

    def __enter__(self) -> Breakable:
        self._task = asyncio.current_task()
        return self

    def break_off(self, *_: object) -> None:
        """End the block where it waits; takes and ignores what callbacks are given."""
        if self._task is not None and not self._broken:
            self._broken = True
            self._task.cancel()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._task = self._task, None
        if not self._broken or task is None:
            return
        # Somebody may have cancelled the whole task as well; then that is what goes on.
        if sys.version_info >= (3, 11) and task.uncancel() > 0:
            return
        if kind is asyncio.CancelledError:
            raise BrokenOffError from None
