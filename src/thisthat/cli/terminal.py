"""What commands show in a terminal: tables, lines of text, a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_ANY_WIDTH = 1 << 20


def plain_table(*headings: str, right: Collection[str] = ()) -> Table:
    """A table without lines; the columns in ``right`` are flush right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    return table


def print_table(table: Table) -> None:
    """Print a table: as wide as the terminal or, through a pipe, with no line broken or padded."""
    from rich.console import Console

    console = Console()
    if console.is_terminal:
        console.print(table)
        return
    console.width = _ANY_WIDTH
    with console.capture() as captured:
        console.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def say(text: str, style: str = "") -> None:
    """Print a text as it is, in one style."""
    from rich.console import Console

    Console().print(text, style=style, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(doing: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, if that is a terminal, moved by calls with (done, total)."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda done, all_of_it: bar.update(task, completed=done, total=all_of_it)
