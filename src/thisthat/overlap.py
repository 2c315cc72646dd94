"""Two kinds of work that can go on at the same time: the rest is prepared while some is done.

For work that waits on a device, whose waiting leaves the interpreter free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Prepared = TypeVar("Prepared")
Done = TypeVar("Done")


def overlapped(
    prepared: Iterable[Prepared], work: Callable[[Prepared], Done]
) -> Iterator[tuple[Prepared, Done]]:
    """Everything in ``prepared`` with what ``work`` makes of it, in order.

    ``work`` runs in one thread, one piece after another. Nothing comes out before everything is
    prepared: what preparing raises is raised first, and work not yet begun is then left undone.
    What ``work`` raises comes out in its turn.
    """
    thread = ThreadPoolExecutor(1)
    try:
        running = [(piece, thread.submit(work, piece)) for piece in prepared]
        for piece, done in running:
            yield piece, done.result()
    finally:
        thread.shutdown(cancel_futures=True)
