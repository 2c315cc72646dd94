"""A result in the terminal: tables that no terminal cuts, however narrow it is.

What does not fit in the width is not squeezed: columns that matter least are left out and named,
long labels take another line, and labels without room stand above their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console

from thisthat_lab.bench.report.table import (
    GROUP_HEADINGS,
    LINE_HEADINGS,
    Sheet,
    group_cells,
    kinds_of,
    line_cells,
    sheets_of,
)
from thisthat_lab.bench.result import Result

_GAP = 2
_LEAST = 24
"""Characters of a label column, below which columns are left out or labels stand alone."""
_PARTS = re.compile(r"[^./]*[./]+|[^./]+")
_SMALL_PARTS = re.compile(r"[^_-]*[_-]+|[^_-]+")
"""Where a word breaks that is longer than its column: after a dot, else within, after a mark."""


def print_result(result: Result, console: Console) -> None:
    """The headline table, sheets, one table per kind of group, problems and caveats."""
    count = result.questions.get("count", 0)
    asked = f", {count:,} questions" if count else ""
    lines = [line_cells(line) for line in result.lines]
    headline = Sheet(
        LINE_HEADINGS[:-1],
        tuple(cells[:-1] for cells in lines),
        f"{result.title}: {result.label}{asked}",
        tuple(f"others: {cells[-1]}" if cells[-1] else "" for cells in lines),
    )
    groups = [
        Sheet((by, *GROUP_HEADINGS), tuple(map(group_cells, result.grouped(by))), f"By {by}")
        for by in kinds_of(result.groups)
    ]
    left_out: dict[str, None] = {}
    for sheet in (headline, *sheets_of(result), *groups):
        left_out |= dict.fromkeys(_print_sheet(sheet, console))
    if left_out:
        told = f"Not shown for want of room, but in the report: {', '.join(left_out)}."
        console.print(told, style="dim", markup=False)
    if result.problems:
        told = ", ".join(f"{count} {why}" for why, count in result.problems.items())
        console.print(f"No answer: {told}.", markup=False)
    for caveat in result.caveats:
        console.print(f"· {caveat}", style="dim", markup=False)
    machine = ", ".join(str(value) for value in result.hardware.values())
    software = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    console.print(f"{machine} · {software}", style="dim", markup=False)


@dataclass(frozen=True)
class _Columns:
    """Which columns are shown and how wide; ``label`` 0: labels stand above their numbers."""

    shown: Sequence[int]
    widths: Sequence[int]
    label: int

    @property
    def width(self) -> int:
        """Of the whole table."""
        return self.label + sum(width + _GAP for width in self.widths)


def _print_sheet(sheet: Sheet, console: Console) -> list[str]:
    """Print a table; the headings of the columns that were left out."""
    columns = _columns(sheet, console.width)

    def say(text: str, style: str = "") -> None:
        console.print(text.rstrip(), style=style, markup=False, highlight=False, soft_wrap=True)

    for line in wrapped(sheet.title, console.width) if sheet.title else ():
        say(line, "italic")
    if not sheet.rows:
        return []
    names = [wrapped(sheet.headings[at], width) for at, width in _of(columns)]
    label = wrapped(sheet.headings[0], columns.label) if columns.label else []
    for line in _beside(label, names, columns, top=False):
        say(line, "bold")
    say("─" * columns.width)
    for row, note in zip(sheet.rows, sheet.notes or [""] * len(sheet.rows), strict=True):
        cells = [[row[at]] for at, _ in _of(columns)]
        if columns.label:
            lines = _beside(wrapped(row[0], columns.label, indent=2), cells, columns)
        else:
            lines = [*wrapped(row[0], console.width, indent=2), *_beside([], cells, columns)]
        told = wrapped(note, console.width - 4) if note else []
        for line in (*lines, *(f"    {part}" for part in told)):
            say(line)
    console.print()
    return [
        sheet.headings[at] for at in sheet.spare if at not in columns.shown and _told(sheet, at)
    ]


def _told(sheet: Sheet, at: int) -> bool:
    """Whether a column has anything in it."""
    return any(row[at] for row in sheet.rows)


def _of(columns: _Columns) -> list[tuple[int, int]]:
    return list(zip(columns.shown, columns.widths, strict=True))


def _columns(sheet: Sheet, width: int) -> _Columns:
    """The columns that fit: all that say something, less the spare ones without room."""
    natural = max((cell_len(row[0]) for row in sheet.rows), default=0)
    wanted = max(natural, cell_len(sheet.headings[0]))
    shown = [at for at in range(1, len(sheet.headings)) if _told(sheet, at)]
    spare = [at for at in sheet.spare if at in shown]
    while True:
        widths = [_width(sheet, at) for at in shown]
        room = width - sum(each + _GAP for each in widths)
        if room >= min(natural, _LEAST):
            return _Columns(shown, widths, min(wanted, room))
        if not spare:
            return _Columns(shown, widths, 0)
        shown.remove(spare.pop(0))


def _width(sheet: Sheet, at: int) -> int:
    """No cell is broken; a heading is, between words."""
    words = [*sheet.headings[at].split(" "), *(row[at] for row in sheet.rows)]
    return max(map(cell_len, words))


def _beside(
    label: Sequence[str], cells: Sequence[Sequence[str]], columns: _Columns, *, top: bool = True
) -> list[str]:
    """Lines of a label and of cells beside it, which begin at the first line or end at the last."""
    high = max([len(label), *map(len, cells)])
    padded = [
        [*each, *[""] * (high - len(each))] if top else [*[""] * (high - len(each)), *each]
        for each in (label, *cells)
    ]
    lines = []
    for first, *others in zip(*padded, strict=True):
        numbers = (
            " " * (_GAP + width - cell_len(cell)) + cell
            for cell, width in zip(others, columns.widths, strict=True)
        )
        lines.append(set_cell_size(first, columns.label) + "".join(numbers))
    return lines


def wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    """The text in lines of that width, all but the first indented; no character is lost."""
    lines = [""]
    for word in text.split(" "):
        room = width - (indent if len(lines) > 1 else 0)
        if lines[-1] and cell_len(lines[-1]) + 1 + cell_len(word) <= room:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        lines[-1:] = _broken(word, width, width - indent, first=len(lines) == 1)
    return [lines[0], *(" " * indent + line for line in lines[1:])]


def _parts(word: str, room: int) -> Iterator[str]:
    for part in _PARTS.findall(word):
        yield from [part] if cell_len(part) <= room else _SMALL_PARTS.findall(part)


def _broken(word: str, width: int, later: int, *, first: bool) -> list[str]:
    """A word in as few parts as its lines ask for, after marks if it can be."""
    lines = [""]
    for part in _parts(word, later):
        room = width if first and len(lines) == 1 else later
        if lines[-1] and cell_len(lines[-1]) + cell_len(part) > room:
            lines.append("")
            room = later
        while cell_len(part) > room:
            lines[-1], part = part[:room], part[room:]
            lines.append("")
            room = later
        lines[-1] += part
    return lines
