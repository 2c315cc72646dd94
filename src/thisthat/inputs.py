"""Files that are read: text, JSON, and JSON lines, with errors that name file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from thisthat.errors import InvalidInputError


def read_text(path: Path) -> str:
    """The text of a file. Raises InvalidInputError when it cannot be read as UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(str(path), f"cannot be read: {error}") from None


def load_json(text: str | bytes, where: str) -> Any:
    """A JSON value. Raises InvalidInputError whose message starts with ``where``."""

    def refuse(constant: str) -> NoReturn:
        raise InvalidInputError(where, f"has {constant}, which JSON cannot hold")

    try:
        text = text if isinstance(text, str) else text.decode()
        return json.loads(text, parse_constant=refuse)
    except UnicodeDecodeError as error:
        raise InvalidInputError(where, f"is not UTF-8 text: {error}") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(where, f"is not JSON: {error}") from None
    except RecursionError:
        raise InvalidInputError(where, "is nested too deeply to read") from None


def read_json(path: Path) -> Any:
    """The JSON value in a file."""
    return load_json(read_text(path), str(path))


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """File and line number, and the JSON value, of every line that is not blank."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            yield where, load_json(line, where)
