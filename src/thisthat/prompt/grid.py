"""Finding grids of cells in a text, so that every cell can be a token of its own.

A grid is three or more equally long runs of cell characters, one after the other, with nothing
between them but a line break (text) or what separates strings in a JSON array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_CELLS = r"[#.@*+=~^ov<>_xXA-Z0·-]{3,}"
_RUN = re.compile(_CELLS)
_SEPARATOR = re.compile(r'\r?\n(?:[ \t]*\d+[ \t]*[|:]?[ \t]?)?|", ?"')
_MOST_KINDS = 12
_LEAST_ROWS = 3


class Piece(NamedTuple):
    """A stretch of text; ``cells`` says that each of its characters is one cell."""

    text: str
    cells: bool


def split_grids(text: str) -> list[Piece]:
    """The text cut into pieces that join back to it; grid rows are pieces of their own."""
    # Rows have a line break or two quotes between them; most texts have too few of both.
    if text.count("\n") + text.count('"') // 2 < _LEAST_ROWS - 1:
        return [Piece(text, cells=False)] if text else []
    pieces: list[Piece] = []
    at = 0
    for rows in _grids(text):
        for start, end in rows:
            if start > at:
                pieces.append(Piece(text[at:start], cells=False))
            pieces.append(Piece(text[start:end], cells=True))
            at = end
    if at < len(text):
        pieces.append(Piece(text[at:], cells=False))
    return pieces


def _grids(text: str) -> Iterator[list[tuple[int, int]]]:
    rows: list[tuple[int, int]] = []
    for match in _RUN.finditer(text):
        span = match.span()
        if rows and not _continues(text, rows[-1], span):
            if _is_grid(text, rows):
                yield rows
            rows = []
        rows.append(span)
    if _is_grid(text, rows):
        yield rows


def _continues(text: str, above: tuple[int, int], below: tuple[int, int]) -> bool:
    same_length = above[1] - above[0] == below[1] - below[0]
    return same_length and _SEPARATOR.fullmatch(text, above[1], below[0]) is not None


def _is_grid(text: str, rows: list[tuple[int, int]]) -> bool:
    if len(rows) < _LEAST_ROWS:
        return False
    cells = "".join(text[start:end] for start, end in rows)
    marks = sum(cell == "X" or not cell.isalnum() for cell in cells)
    # Acronyms in a list are equally long runs too; a map is mostly walls and floor.
    return len(set(cells)) <= _MOST_KINDS and 2 * marks >= len(cells)
