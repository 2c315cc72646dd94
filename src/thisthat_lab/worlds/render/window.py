"""A window as an ASCII block, as JSON and as prose, each in several styles, and back again.

Style 0 is the wording that recordings and the released benchmark use; the others say the same
cells in other words, for training.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

from thisthat_lab.tables import Tables
from thisthat_lab.worlds.window import KINDS, RADIUS, SIDE, Window

Surface: TypeAlias = Literal["ascii", "json", "prose"]

SURFACES: tuple[Surface, ...] = ("ascii", "json", "prose")
STYLES = 4
_MARKS = {"wall": "#", "open": ".", "outside": "X", "agent": "A"}
_WORDS = {**KINDS, "A": "agent"}


def render_window(window: Window, surface: Surface, style: int = 0) -> str:
    """The window as text; raises IndexError for a style there is not."""
    return _WRITERS[surface][style](window)


def parse_window(text: str) -> Window:
    """The window that some surface and style was written from; raises ValueError otherwise."""
    if text.startswith("{"):
        return _parse_json(json.loads(text))
    if "\n" in text:
        return _parse_ascii(text)
    return _parse_prose(text)


def _numbered(window: Window) -> list[str]:
    first = window.first[0]
    if first < 0:  # a number with a sign would read as cells
        return list(window.rows)
    return [f"{first + index:>3} {row}" for index, row in enumerate(window.rows)]


def _write_ascii(form: str, window: Window) -> str:
    row, column = window.agent
    rows = _numbered(window) if "{numbered}" in form else window.rows
    shown = "\n".join(rows)
    return form.format(row=row, column=column, left=column - RADIUS, rows=shown, numbered=shown)


def _parse_ascii(text: str) -> Window:
    found = re.search(r"\((-?\d+),(-?\d+)\)", text)
    if not found:
        raise ValueError("no agent coordinate in the text")
    rows = tuple(line[-SIDE:] for line in text.split("\n")[-SIDE:])
    return _checked((int(found[1]), int(found[2])), rows)


def _json_rows(window: Window) -> str:
    top, left = window.first
    rows = [
        {
            "row": top + index,
            "columns": {str(left + place): _WORDS[mark] for place, mark in enumerate(row)},
        }
        for index, row in enumerate(window.rows)
    ]
    agent = {"row": window.agent[0], "column": window.agent[1]}
    return json.dumps({"agent": agent, "rows": rows})


def _json_cells(window: Window) -> str:
    top, left = window.first
    cells = {
        f"{top + index},{left + place}": _WORDS[mark]
        for index, row in enumerate(window.rows)
        for place, mark in enumerate(row)
    }
    return json.dumps({"agent": list(window.agent), "cells": cells})


def _json_lists(window: Window) -> str:
    top, left = window.first
    view = [[_WORDS[mark] for mark in row] for row in window.rows]
    agent = {"row": window.agent[0], "column": window.agent[1]}
    return json.dumps({"agent": agent, "first_row": top, "first_column": left, "window": view})


def _json_view(window: Window) -> str:
    legend = {"#": "wall", ".": "open", "A": "agent", "X": "outside"}
    return json.dumps({"agent": list(window.agent), "legend": legend, "view": list(window.rows)})


def _parse_json(data: dict[str, Any]) -> Window:
    agent = data["agent"]
    row, column = agent if isinstance(agent, list) else (agent["row"], agent["column"])
    if "view" in data:
        rows = tuple(data["view"])
    elif "window" in data:
        rows = tuple("".join(_MARKS[word] for word in line) for line in data["window"])
    elif "cells" in data:
        marks = "".join(_MARKS[word] for word in data["cells"].values())
        rows = tuple(marks[place : place + SIDE] for place in range(0, len(marks), SIDE))
    else:
        rows = tuple(
            "".join(_MARKS[word] for word in line["columns"].values()) for line in data["rows"]
        )
    return _checked((row, column), rows)


_SENTENCE = {"#": "a wall", ".": "open", "X": "outside", "A": "the agent"}


def _cell_by_cell(form: str, window: Window) -> str:
    (row, column), (top, left) = window.agent, window.first
    sentences = [
        f"In row {top + index}, "
        + ", ".join(
            f"column {left + place} is {_SENTENCE[mark]}" for place, mark in enumerate(line)
        )
        for index, line in enumerate(window.rows)
    ]
    return form.format(row=row, column=column, cells=". ".join(sentences) + ".")


def _prose_ranges(window: Window) -> str:
    (row, column), (top, left) = window.agent, window.first
    sentences = [
        f"Row {top + index}, from column {left} to column {left + SIDE - 1}: "
        + ", ".join(_WORDS[mark] for mark in line)
        for index, line in enumerate(window.rows)
    ]
    return (
        f"You are in row {row} and column {column} of a maze whose rows grow to the south and "
        "columns to the east, starting at zero. " + ". ".join(sentences) + "."
    )


def _prose_relative(window: Window) -> str:
    (row, column), (top, left) = window.agent, window.first
    names = ("Two rows north", "One row north", "On its own row", "One row south", "Two rows south")
    sentences = [
        f"{name} (row {top + index}), going east from column {left}: "
        + ", ".join(_WORDS[mark] for mark in line)
        for index, (name, line) in enumerate(zip(names, window.rows, strict=True))
    ]
    return f"The agent is in row {row} and column {column}. " + ". ".join(sentences) + "."


def _parse_prose(text: str) -> Window:
    agent = re.search(r"row (\d+)(?:,| and) column (\d+)", text)
    if not agent:
        raise ValueError("no agent coordinate in the text")
    marks = {phrase: mark for mark, phrase in _SENTENCE.items()} | _MARKS
    rows = []
    for sentence in text.rstrip(".").split(". ")[1:]:
        words = re.findall(r"column -?\d+ is ([a-z ]+)", sentence)
        words = words or sentence.split(": ")[1].split(", ")
        rows.append("".join(marks[word] for word in words))
    return _checked((int(agent[1]), int(agent[2])), tuple(rows))


def _checked(agent: tuple[int, int], rows: tuple[str, ...]) -> Window:
    if len(rows) != SIDE or any(len(row) != SIDE for row in rows) or rows[RADIUS][RADIUS] != "A":
        raise ValueError("the text does not hold a window of five rows of five cells around A")
    return Window(agent, rows)


_TABLES = Tables(__file__)
_RECORDED, _LISTED = (partial(_cell_by_cell, form) for form in _TABLES.words("cell_by_cell"))
_WRITERS: dict[Surface, tuple[Callable[[Window], str], ...]] = {
    "ascii": tuple(partial(_write_ascii, form) for form in _TABLES.words("ascii")),
    "json": (_json_rows, _json_cells, _json_lists, _json_view),
    "prose": (_RECORDED, _prose_ranges, _prose_relative, _LISTED),
}
