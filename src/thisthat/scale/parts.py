"""Parts of a batch's output: Parquet, JSON lines or CSV, each written, synced and renamed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from thisthat.errors import MissingExtraError
from thisthat.files import write_atomically
from thisthat.inputs import pyarrow_parquet
from thisthat.scale.columns import Kind, arrow_schema

Format: TypeAlias = Literal["parquet", "jsonl", "csv"]


def check_format(form: Format) -> None:
    """Raise MissingExtraError for a format whose package is not installed."""
    if form == "parquet":
        try:
            pyarrow_parquet()
        except MissingExtraError:
            raise MissingExtraError(
                "Parquet output (unlike --format csv or jsonl)", "batch"
            ) from None


def write_part(
    path: Path,
    kinds: Mapping[str, Kind],
    columns: Mapping[str, list[Any]],
    provenance: Mapping[str, Any],
) -> None:
    """Write the columns in the format of the suffix, completely or not at all.

    ``provenance`` goes into a Parquet file's metadata, under ``thisthat``.
    """
    if path.suffix == ".parquet":
        pyarrow, parquet = pyarrow_parquet()
        told = {"thisthat": json.dumps(provenance, ensure_ascii=False)}
        schema = arrow_schema(kinds).with_metadata(told)
        table = pyarrow.table(dict(columns), schema=schema)

        def write(file: BinaryIO) -> None:
            parquet.write_table(table, file, compression="zstd")

        write_atomically(path, write)
    elif path.suffix == ".jsonl":
        rows = (dict(zip(columns, row, strict=True)) for row in _rows(columns))
        write_atomically(path, "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows))
    else:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in _rows(columns))
        write_atomically(path, text.getvalue())


def _rows(columns: Mapping[str, list[Any]]) -> Any:
    return zip(*columns.values(), strict=True)


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (bool, list)) else value
