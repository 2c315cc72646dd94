"""The decision log as a Parquet file, for tools that read columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from thisthat.audit.entry import COLUMNS, NUMBERS, Entry
from thisthat.errors import MissingExtraError
from thisthat.files import write_atomically

_ROWS = 4096


def export_parquet(entries: Iterable[Entry], path: Path) -> int:
    """Write the lines to ``path`` completely or not at all; returns how many there were.

    Raises MissingExtraError without pyarrow.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        what = "writing Parquet (without it, thisthat log query LOG --limit N prints JSON lines)"
        raise MissingExtraError(what, "audit") from None
    types: list[tuple[str, Any]] = [
        (name, pyarrow.float64() if name in NUMBERS else pyarrow.string()) for name in COLUMNS
    ]
    schema = pyarrow.schema(types)
    lines = iter(entries)
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            while rows := [asdict(entry) for entry in islice(lines, _ROWS)]:
                writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
                count += len(rows)

    write_atomically(path, write)
    return count
