"""Files that are read: text, JSON, and lines, with errors that name file and line.

Lines are streamed; gzip and zstandard are known by their first bytes.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from thisthat.errors import InvalidInputError, MissingExtraError, shown

_CHUNK = 1 << 17
_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def reason(error: Exception) -> str:
    """Why a file cannot be read, without its name, which the message names already."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def read_text(path: Path) -> str:
    """The text of a file. Raises InvalidInputError when it cannot be read as UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be read: {reason(error)}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        hint = '; a spreadsheet saves it as "CSV UTF-8"' if path.suffix == ".csv" else ""
        raise InvalidInputError(
            f"{path}, line {line}", f"is not UTF-8 text: {error}{hint}"
        ) from None


def comma_hint(columns: Sequence[str]) -> str:
    """What to add to an error about the columns of a CSV file if its cells stand in one column."""
    alone = len(columns) == 1 and any(mark in columns[0] for mark in ";\t")
    return " (cells must be separated by commas)" if alone else ""


def cells_fault(cells: Sequence[str], header: Sequence[str], delimiter: str = ",") -> str:
    """What is wrong with a line of a table that has other cells than its header."""
    marks = {",": "commas", "\t": "tabs"}[delimiter]
    more = len(cells) > len(header)
    hint = f"; a text with {marks} needs double quotes around it" if more else ""
    count = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
    return f"has {count}, and the header {len(header)}{hint}"


def check_cell(state: object, where: str) -> None:
    """Raise for a state that is a blank cell of a table, which is nearly always a slip."""
    if isinstance(state, str) and not state.strip():
        message = "is blank; fill it in or remove the row (a .jsonl file may hold an empty state)"
        raise InvalidInputError(where, message)


def load_json(text: str | bytes, where: str, *, unique: bool = False) -> Any:
    """A JSON value. Raises InvalidInputError whose message starts with ``where``.

    With ``unique``, also for a key that stands twice in an object; else its last value counts.
    """

    def refuse(constant: str) -> NoReturn:
        raise InvalidInputError(where, f"has {constant}, which JSON cannot hold")

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
            raise InvalidInputError(where, f"has the key {shown(key)} twice in one object")
        return found

    try:
        text = (text if isinstance(text, str) else text.decode()).rstrip("\r\n")
        return json.loads(
            text, parse_constant=refuse, object_pairs_hook=members if unique else None
        )
    except UnicodeDecodeError as error:
        raise InvalidInputError(where, f"is not UTF-8 text: {error}") from None
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if error.lineno > 1 else ""
        raise InvalidInputError(
            where, f"is not JSON: {error.msg} ({line}column {error.colno})"
        ) from None
    except RecursionError:
        raise InvalidInputError(where, "is nested too deeply to read") from None


def read_json(path: Path) -> Any:
    """The JSON value in a file, whose keys must be unique in their objects."""
    return load_json(read_text(path), str(path), unique=True)


def json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """File and line number, and the JSON value, of every line that is not blank."""
    for where, line in numbered_lines(path):
        yield where, load_json(line, where)


def load_line(line: bytes, where: str) -> Any:
    """``load_json`` for a line of states, where plain text is told how it is written."""
    try:
        return load_json(line, where)
    except InvalidInputError as error:
        if line.lstrip()[:1] in (b"{", b"[", b'"'):
            raise
        hint = 'put a text in double quotes, or give a .csv file with a column "state"'
        raise InvalidInputError(where, f"{error.message}; {hint}") from None


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with their ends, one at a time, decompressed where it is compressed.

    Raises InvalidInputError naming the last good line for damaged data, MissingExtraError for
    zstandard without its package.
    """
    number = 0
    rest: list[bytes] = []
    try:
        for chunk in _chunks(path):
            *whole, last = chunk.split(b"\n")
            for line in whole:
                number += 1
                yield b"".join([*rest, line, b"\n"]) if rest else line + b"\n"
                rest = []
            if last:
                rest.append(last)
    except _DamagedError as error:
        raise InvalidInputError(f"{path}, after line {number}", str(error)) from None
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be read: {reason(error)}") from None
    if rest:
        yield b"".join(rest)


def numbered_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """``lines`` that are not blank, each with its file and line number. Raises what it raises."""
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            yield f"{path}, line {number}", line


class _DamagedError(Exception):
    """The compressed data is damaged from here on."""


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        start = file.read(len(_ZSTANDARD))
        file.seek(0)
        if start == _ZSTANDARD:
            package = zstandard()
            new = package.ZstdDecompressor().decompressobj
            yield from _decompress(file, new, package.ZstdError)
        elif start.startswith(_GZIP):
            yield from _decompress(file, lambda: zlib.decompressobj(wbits=31), zlib.error)
        else:
            while chunk := file.read(_CHUNK):
                yield chunk


def _decompress(file: BinaryIO, new: Callable[[], Any], damage: type[Exception]) -> Iterator[bytes]:
    """Frame after frame: a compressed file may be several, one behind the other."""
    frame = None
    while data := file.read(_CHUNK):
        while data:
            frame = frame or new()
            try:
                chunk = frame.decompress(data)
            except damage as error:
                raise _DamagedError(f"the compressed data is damaged: {error}") from None
            if chunk:
                yield chunk
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise _DamagedError("the file ends in the middle of its compressed data")


def zstandard() -> Any:
    """The package. Raises MissingExtraError."""
    try:
        import zstandard as package
    except ImportError:
        raise MissingExtraError("a .zst file", "batch") from None
    return package


def pyarrow_parquet() -> tuple[Any, Any]:
    """``pyarrow`` and ``pyarrow.parquet``. Raises MissingExtraError."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("a Parquet file", "batch") from None
    return pyarrow, pyarrow.parquet
