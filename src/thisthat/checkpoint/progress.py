"""Tells whoever waits for the base weights how far they are."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console

Report: TypeAlias = Callable[[int, int], None]
"""Called with the bytes so far and the total while fetching."""

_NEXT = "On a CPU, a form for this machine is built next: 15 s or more, once"

_logger = logging.getLogger("thisthat.store")


@contextmanager
def progress_bar(total: int) -> Iterator[Report]:
    """A bar for fetching on standard error; one line ahead if that is not a terminal."""
    if not _console().is_terminal:
        _announce(f"Fetching base weights, {total / 1e6:.0f} MB. {_NEXT}")
    with _bar("Fetching base weights", total) as report:
        yield report


@contextmanager
def unpacking_bar(total: int) -> Iterator[Report]:
    """A bar, on a terminal, for what follows the fetch: gigabytes take seconds."""
    with _bar("Unpacking and checking", total) as report:
        yield report
    if (console := _console()).is_terminal:
        console.print(_NEXT, highlight=False)


@contextmanager
def _bar(what: str, total: int) -> Iterator[Report]:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = _console()
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _console() -> Console:
    from rich.console import Console

    return Console(stderr=True)


def _announce(text: str) -> None:
    """Tell the program's log, or standard error where nobody set one up."""
    if _logger.hasHandlers():
        _logger.info(text)
    else:
        print(text, file=sys.stderr, flush=True)
