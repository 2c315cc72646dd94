"""Rows of states, streamed from files: where each stands, its id and its state.

What is wrong with one row belongs to that row. What is wrong with a file, and ids that are missing
or there twice, stop everything before anything is answered.
"""

from __future__ import annotations

import csv
import glob
import sqlite3
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from thisthat.errors import InvalidInputError
from thisthat.inputs import (
    cells_fault,
    check_cell,
    comma_hint,
    lines,
    load_line,
    numbered_lines,
    pyarrow_parquet,
    reason,
)
from thisthat.questions import Text, check_text

Kind: TypeAlias = Literal["jsonl", "csv", "tsv", "parquet"]
Id: TypeAlias = "str | int"
Record: TypeAlias = "tuple[str, Text | InvalidInputError]"

_SUFFIXES: dict[str, Kind] = {".ndjson": "jsonl", **{f".{kind}": kind for kind in get_args(Kind)}}
STANDARD_INPUT = "standard input"
_PARQUET_ROWS = 1024
_IDS = 1_000
_MOST_NAMED = 20
_WIDEST = 1 << 63


@dataclass(frozen=True, slots=True)
class InputRow:
    """A row of the input; ``state`` is what is wrong where the row has none that can be read.

    ``id`` is None where not even that can be read.
    """

    where: str
    id: Id | None
    state: Text | InvalidInputError


@dataclass(frozen=True)
class RowSource:
    """Files of rows, with the columns that hold the id and the state.

    Without an id column a row's id is its number in the whole input, from 1. Several state columns
    make one JSON object; a JSON line that is no object is itself the state. ``kind`` is that of
    every file; None: as the suffix says. ``spooled`` is the file that standard input went to.
    ``refused`` are columns that no row may have beside its state, and why.
    """

    files: Sequence[Path]
    id: str | None = None
    state: Sequence[str] = ("state",)
    kind: Kind | None = None
    spooled: Path | None = None
    refused: Mapping[str, str] = field(default_factory=dict)

    def name(self, path: Path) -> str:
        """What to call a file; the one that standard input was written to is not the user's."""
        return STANDARD_INPUT if path == self.spooled else str(path)

    def rows(self) -> Iterator[InputRow]:
        """All rows, in order.

        Raises InvalidInputError for files that cannot be read, refused columns, bad ids.
        """
        number = 0
        for path in self.files:
            kind = self._kind(path)
            if self.refused:
                self._check_columns(self.name(path), self._header(path))
            for where, record in _READERS[kind](path, self._wanted):
                number += 1
                if kind == "jsonl" and isinstance(record, Mapping):
                    self._check_columns(where.replace(str(path), self.name(path), 1), record)
                if path == self.spooled:
                    where = where.replace(str(path), STANDARD_INPUT, 1)
                    if isinstance(record, InvalidInputError):
                        field = record.field.replace(str(path), STANDARD_INPUT, 1)
                        record = InvalidInputError(field, record.message)
                yield self._row(where, record, number, kind)

    def survey(self) -> tuple[int, Literal["text", "integer"]]:
        """How many rows there are and what their ids are. Raises what ``rows`` raises.

        Raises InvalidInputError also for ids of two kinds, ids there twice (whose memory is on
        disk), no rows, and a column that no row has.
        """
        count, readable, first = 0, 0, None
        kinds: dict[type, str] = {}
        with _Ids(self.id or "id") as seen:
            for row in self.rows():
                count += 1
                if row.id is not None:
                    kinds.setdefault(type(row.id), row.where)
                    if self.id is not None:
                        seen.add(row.id, row.where)
                if not isinstance(row.state, _NoColumnError):
                    readable += 1
                elif first is None:
                    first = row.state
                if len(kinds) > 1:
                    number, text = kinds[int], kinds[str]
                    message = f"is a number in {number} and text in {text}; ids are of one kind"
                    raise InvalidInputError(f"{row.where}, {self.id}", message)
        if not count:
            raise InvalidInputError(", ".join(map(str, self.files)), "has no rows")
        if not readable and first is not None:
            raise InvalidInputError(first.field, f"{first.message}, and neither has any other row")
        return count, "integer" if int in kinds else "text"

    def columns(self) -> list[str]:
        """The columns of the first file that is a table. Raises InvalidInputError."""
        return next(filter(None, map(self._header, self.files)), [])

    def _header(self, path: Path) -> list[str]:
        kind = self._kind(path)
        return [] if kind == "jsonl" else _HEADERS[kind](path)

    def _check_columns(self, where: str, columns: Container[str]) -> None:
        for name in self.refused if self.state[0] in columns else ():
            if name in columns:
                raise InvalidInputError(where, f"has the column {name!r}, {self.refused[name]}")

    def stamps(self) -> dict[str, tuple[int, int]]:
        """Size and modification time of every file. Raises InvalidInputError."""
        try:
            found = {str(path): path.stat() for path in self.files}
        except OSError as error:
            raise InvalidInputError(
                str(error.filename), f"cannot be read: {reason(error)}"
            ) from None
        return {name: (each.st_size, each.st_mtime_ns) for name, each in found.items()}

    @property
    def _wanted(self) -> tuple[str, ...]:
        return (*self.state, *([] if self.id is None else [self.id]))

    def _kind(self, path: Path) -> Kind:
        kind = self.kind or kind_by_name(path)
        if kind is None:
            known = ", ".join(_SUFFIXES)
            message = f"has a suffix that is none of {known}; say --input-format"
            raise InvalidInputError(str(path), message)
        return kind

    def _row(
        self, where: str, record: Text | InvalidInputError, number: int, kind: Kind
    ) -> InputRow:
        own = number if self.id is None else None
        if isinstance(record, InvalidInputError):
            return InputRow(where, own, record)
        found = own if own is not None else self._id(where, record)
        try:
            state = self._state(where, record)
            if kind != "jsonl":
                check_cell(state, f"{where}, {self.state[0]}")
            return InputRow(where, found, state)
        except InvalidInputError as error:
            return InputRow(where, found, error)

    def _id(self, where: str, record: Text) -> Id:
        found = record.get(self.id) if self.id and isinstance(record, Mapping) else None
        field = f"{where}, {self.id}"
        if found is None or found == "":
            raise InvalidInputError(field, "is missing; every row needs an id")
        if isinstance(found, str):
            check_text(found, field)
            return found
        if isinstance(found, bool) or not isinstance(found, int):
            kind = type(found).__name__
            raise InvalidInputError(field, f"must be text or a whole number, not {kind}")
        if not -_WIDEST <= found < _WIDEST:
            raise InvalidInputError(field, f"is {found}, which 64 bits cannot hold; make it text")
        return found

    def _state(self, where: str, record: Text) -> Text:
        if not isinstance(record, Mapping):
            if tuple(self.state) == ("state",):
                check_text(record, where)
                return record
            raise _NoColumnError(where, f"is no object, so it has no column {self.state[0]!r}")
        for name in self.state:
            if name not in record:
                has = ", ".join(list(record)[:_MOST_NAMED]) or "none"
                raise _NoColumnError(where, f"has no column {name!r}; it has {has}")
        if len(self.state) > 1:
            return {name: record[name] for name in self.state}
        state: Any = record[self.state[0]]
        if state is None:
            raise InvalidInputError(f"{where}, {self.state[0]}", "is missing")
        check_text(state, f"{where}, {self.state[0]}")
        return state  # type: ignore[no-any-return]


class _NoColumnError(InvalidInputError):
    """A row without one of the columns."""


class _Ids:
    """The ids so far, in a file that the operating system removes."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._waiting: list[tuple[Id, str]] = []
        self._database = sqlite3.connect("", isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            "CREATE TABLE ids (id PRIMARY KEY, place) WITHOUT ROWID",
            "BEGIN",
        ):
            self._database.execute(statement)

    def add(self, found: Id, where: str) -> None:
        """Note an id; they are looked at many at a time. Raises InvalidInputError for the second of
        two."""
        self._waiting.append((found, where))
        if len(self._waiting) == _IDS:
            self._look()

    def _look(self) -> None:
        run = self._database.execute
        insert = "INSERT OR IGNORE INTO ids VALUES (?, ?)"
        if self._database.executemany(insert, self._waiting).rowcount < len(self._waiting):
            for found, where in self._waiting:
                ((place,),) = run("SELECT place FROM ids WHERE id = ?", (found,))
                if place != where:
                    message = f"{found!r} is already the id of {place}"
                    raise InvalidInputError(f"{where}, {self._column}", message)
        self._waiting.clear()

    def __enter__(self) -> _Ids:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and self._waiting:
                self._look()
        finally:
            self._database.close()


def kind_by_name(path: Path) -> Kind | None:
    """What a file is by its suffix, compressed or not; None for a suffix that is not known."""
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    return _SUFFIXES.get(plain.suffix)


def find_files(patterns: Sequence[str]) -> list[Path]:
    """The files that names and globs stand for, in order. Raises InvalidInputError."""
    found: list[Path] = []
    for pattern in patterns:
        path = Path(pattern)
        if path.is_dir():
            raise InvalidInputError(
                pattern, f"is a folder; name its files, as in {pattern}/*.jsonl"
            )
        if path.exists():
            found.append(path)
            continue
        matched = glob.glob(pattern, recursive=True)  # noqa: PTH207, Path.glob takes no absolute ones
        matches = sorted(Path(each) for each in matched)
        files = [each for each in matches if each.is_file()]
        if not files:
            raise InvalidInputError(pattern, "there is no such file, and no file matches it")
        found += files
    twice = next((path for number, path in enumerate(found) if path in found[:number]), None)
    if twice is not None:
        raise InvalidInputError(str(twice), "is given twice")
    return found


def _json(path: Path, _: Sequence[str]) -> Iterator[Record]:
    for where, line in numbered_lines(path):
        try:
            yield where, load_line(line, where)
        except InvalidInputError as error:
            yield where, error


def _opened_csv(path: Path, delimiter: str = ",") -> tuple[Any, list[str]]:
    """A reader behind the header, and the header."""
    texts = (line.decode("utf-8", "surrogateescape") for line in lines(path))
    reader = csv.reader(texts, delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line 1", f"is not CSV: {error}") from None
    return reader, [name.removeprefix("\ufeff") for name in header]


def _csv(path: Path, wanted: Sequence[str], delimiter: str = ",") -> Iterator[Record]:
    reader, header = _opened_csv(path, delimiter)
    _check_header(path, header, wanted)
    while True:
        where = f"{path}, line {reader.line_num + 1}"
        try:
            fields = next(reader, None)
        except csv.Error as error:
            yield where, InvalidInputError(where, f"is not CSV: {error}")
            continue
        if fields is None:
            return
        if len(fields) != len(header) and fields:
            yield where, InvalidInputError(where, cells_fault(fields, header, delimiter))
        elif fields:
            yield where, _decoded(where, dict(zip(header, fields, strict=True)))


def _decoded(where: str, record: dict[str, str]) -> Text | InvalidInputError:
    """The record, unless a field holds bytes that are not UTF-8 (read as surrogates)."""
    for name, value in record.items():
        if not value.isascii() and any("\udc80" <= each <= "\udcff" for each in value):
            return InvalidInputError(f"{where}, {name}", "is not UTF-8 text")
    return record


def _tsv(path: Path, wanted: Sequence[str]) -> Iterator[Record]:
    return _csv(path, wanted, "\t")


def _parquet(path: Path, wanted: Sequence[str]) -> Iterator[Record]:
    pyarrow, parquet = pyarrow_parquet()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            _check_header(path, file.schema_arrow.names, wanted)
            for batch in file.iter_batches(_PARQUET_ROWS, columns=list(wanted)):
                for record in _arrow_rows(batch):
                    number += 1
                    where = f"{path}, row {number}"
                    if isinstance(record, str):
                        yield where, InvalidInputError(where, record)
                    else:
                        yield where, record
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInputError(f"{path}, after row {number}", f"cannot be read: {error}") from None


def _parquet_header(path: Path) -> list[str]:
    pyarrow, parquet = pyarrow_parquet()
    try:
        with parquet.ParquetFile(path) as file:
            return list(file.schema_arrow.names)
    except (pyarrow.ArrowException, OSError) as error:
        raise InvalidInputError(str(path), f"cannot be read: {error}") from None


def _arrow_rows(batch: Any) -> Iterator[dict[str, Any] | str]:
    """The rows of a batch; a text that is not UTF-8 spoils its own row alone."""
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for number in range(batch.num_rows):
            try:
                yield batch.slice(number, 1).to_pylist()[0]
            except UnicodeDecodeError as error:
                yield f"is not UTF-8 text: {error}"


def _check_header(path: Path, header: Sequence[str], wanted: Sequence[str]) -> None:
    twice = next(islice((name for name in header if header.count(name) > 1), 1), None)
    if twice is not None:
        raise InvalidInputError(str(path), f"has the column {twice!r} twice")
    for name in wanted:
        if name not in header:
            has = ", ".join(header[:_MOST_NAMED]) or "none"
            message = f"has no column {name!r}; it has {has}{comma_hint(header)}"
            raise InvalidInputError(str(path), message)


_READERS: dict[Kind, Callable[[Path, Sequence[str]], Iterator[Record]]] = {
    "jsonl": _json,
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
}

_HEADERS: dict[Kind, Callable[[Path], list[str]]] = {
    "csv": lambda path: _opened_csv(path)[1],
    "tsv": lambda path: _opened_csv(path, "\t")[1],
    "parquet": _parquet_header,
}
