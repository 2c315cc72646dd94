"""Files that commands read: text, JSON, and JSON lines, with errors that name file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError


def read_text(path: Path) -> str:
    """The text of a file. Raises InvalidInputError when it cannot be read as UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(str(path), f"cannot be read: {error}") from error


def load_json(text: str, where: str) -> Any:
    """A JSON value. Raises InvalidInputError whose message starts with ``where``."""

    def refuse(constant: str) -> None:
        raise InvalidInputError(where, f"has {constant}, which JSON cannot hold")

    try:
        return json.loads(text, parse_constant=refuse)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInputError(where, f"is not JSON: {error}") from error


def read_json(path: Path) -> Any:
    """The JSON value in a file."""
    return load_json(read_text(path), str(path))


def json_lines(path: Path) -> Iterator[Any]:
    """The JSON value of every line that is not blank."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            yield load_json(line, f"{path}:{number}")
