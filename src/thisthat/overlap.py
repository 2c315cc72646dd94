"""Two kinds of work that can go on at the same time: the next is prepared while one is done.

For work that waits on a device, whose waiting leaves the interpreter free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Prepared = TypeVar("Prepared")
Done = TypeVar("Done")


def overlapped(
    prepared: Iterable[Prepared], work: Callable[[Prepared], Done]
) -> Iterator[tuple[Prepared, Done]]:
    """Everything in ``prepared`` with what ``work`` makes of it, in order.

    ``work`` runs in one thread, one piece at a time. At most one piece waits while another is
    worked on. What either raises comes out here, in its turn.
    """
    with ThreadPoolExecutor(1) as thread:
        running: tuple[Prepared, Future[Done]] | None = None
        for piece in prepared:
            following = (piece, thread.submit(work, piece))
            if running is not None:
                yield running[0], running[1].result()
            running = following
        if running is not None:
            yield running[0], running[1].result()
