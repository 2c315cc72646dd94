"""Decision files: reading and writing items as JSONL, zstandard-compressed JSONL and Parquet.

Every error names the file and the line (or row) where it happened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from thisthat.errors import InvalidInputError
from thisthat.files import write_atomically
from thisthat.inputs import load_json, numbered_lines, pyarrow_parquet, reason, zstandard
from thisthat.items.item import Item, dump_row

_PARQUET_ROWS = 4096


def read_items(path: str | Path) -> Iterator[Item]:
    """The items of a ``.jsonl``, ``.jsonl.zst`` or ``.parquet`` file, one at a time, in order.

    Blank lines are skipped. Raises InvalidInputError naming file and line for anything that is not
    an item, for a damaged or truncated file, and MissingExtraError when the file's format needs a
    package that is not installed.
    """
    return (item for _, item in placed_items(Path(path)))


def placed_items(path: Path) -> Iterator[tuple[str, Item]]:
    """Where each item stands, and the item. Raises as ``read_items`` does."""
    for where, row in read_rows(path):
        if not isinstance(row, dict):
            raise InvalidInputError(where, f"must be a JSON object, not a {type(row).__name__}")
        plain = _plain_row(row, where) if path.suffix == ".parquet" else row
        yield where, Item.from_dict(plain, where)


def read_rows(path: Path, *, unique: bool = False) -> Iterator[tuple[str, Any]]:
    """Where each row of such a file stands, and its value, whatever it says.

    With ``unique``, a key that stands twice in an object is refused.
    """
    try:
        if path.suffix == ".parquet":
            yield from _read_parquet(path)
        else:
            for where, line in numbered_lines(path):
                yield where, _json_row(line, where, unique)
    except OSError as error:
        raise InvalidInputError(str(path), f"cannot be read: {reason(error)}") from None


def _json_row(line: bytes, where: str, unique: bool) -> Any:
    try:
        return load_json(line, where, unique=unique)
    except InvalidInputError as error:
        if line.lstrip().startswith(b"{"):
            raise
        hint = "each line must be a JSON object; a table's name must end in .csv or .parquet"
        raise InvalidInputError(where, f"{error.message}; {hint}") from None


def write_items(path: str | Path, items: Iterable[Item], level: int = 10) -> int:
    """Write items to ``path`` completely or not at all; returns how many there were.

    The suffix selects the format: ``.parquet``, ``.zst`` (compressed at ``level``), else JSONL.
    """
    path = Path(path)
    count = 0

    def counted() -> Iterator[Item]:
        nonlocal count
        for item in items:
            count += 1
            yield item

    if path.suffix == ".parquet":
        write_atomically(path, lambda file: _write_parquet(file, counted()))
    elif path.suffix == ".zst":
        write_atomically(path, lambda file: _write_zstandard(file, counted(), level))
    else:
        write_atomically(path, lambda file: file.writelines(_encode(counted())))
    return count


def _encode(items: Iterable[Item]) -> Iterator[bytes]:
    for item in items:
        yield dump_row(item.as_dict()).encode() + b"\n"


def _write_zstandard(file: BinaryIO, items: Iterable[Item], level: int) -> None:
    compressor = zstandard().ZstdCompressor(level=level, write_checksum=True).compressobj()
    for line in _encode(items):
        file.write(compressor.compress(line))
    file.write(compressor.flush())


def _write_parquet(file: BinaryIO, items: Iterator[Item]) -> None:
    pyarrow, parquet = pyarrow_parquet()
    text = pyarrow.string()
    option = pyarrow.struct([("name", text), ("description", text)])
    columns = dict.fromkeys(("source", "family", "kind", "state"), text)
    columns |= {"state_is_json": pyarrow.bool_(), "question": text}
    columns |= {"options": pyarrow.list_(option), "answer": pyarrow.int32(), "split": text}
    columns |= {"target": pyarrow.list_(pyarrow.float64()), "facts": text}
    schema = pyarrow.schema(list(columns.items()))
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while rows := [_parquet_row(item) for item in islice(items, _PARQUET_ROWS)]:
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))


def _parquet_row(item: Item) -> dict[str, Any]:
    row = item.as_dict()
    row["state_is_json"] = not isinstance(item.state, str)
    if row["state_is_json"]:
        row["state"] = json.dumps(item.state, ensure_ascii=False)
    row["options"] = [{"name": name, "description": text} for name, text in item.options]
    row["facts"] = json.dumps(dict(item.facts), ensure_ascii=False) if item.facts else None
    return row


def _read_parquet(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    pyarrow, parquet = pyarrow_parquet()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_PARQUET_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except pyarrow.ArrowException as error:
        raise InvalidInputError(f"{path}, after row {number}", f"cannot be read: {error}") from None


def _plain_row(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    plain = {key: value for key, value in row.items() if value is not None}
    try:
        if plain.pop("state_is_json", False):
            plain["state"] = json.loads(plain["state"])
        for name in ("facts", "options"):
            if isinstance(plain.get(name), str):
                plain[name] = json.loads(plain[name])
    except json.JSONDecodeError as error:
        raise InvalidInputError(where, f"has a column that is not JSON: {error}") from None
    if isinstance(plain.get("options"), list):
        plain["options"] = [
            [option.get("name"), option.get("description")] if isinstance(option, dict) else option
            for option in plain["options"]
        ]
    return plain
