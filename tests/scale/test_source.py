import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from tests.scale.support import numbered, write_lines
from thisthat.errors import InvalidInputError
from thisthat.scale.source import RowSource, find_files

ROWS = [{"id": "a", "state": "one, two"}, {"id": "b", "state": 'three\n\n"four" é'}]


def write(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    plain = path.with_suffix("") if path.suffix in (".gz", ".zst") else path
    if plain.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        return path
    if plain.suffix == ".jsonl":
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    else:
        between = "," if plain.suffix == ".csv" else "\t"
        quoted = [[f'"{str(v).replace(chr(34), chr(34) * 2)}"' for v in r.values()] for r in rows]
        data = "\n".join(between.join(line) for line in [list(rows[0]), *quoted]).encode()
    compress = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    path.write_bytes(compress(data))
    return path


@pytest.mark.parametrize(
    "name", ["a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.jsonl.gz", "a.jsonl.zst", "a.csv.gz"]
)
def test_every_format_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    rows = list(RowSource([write(tmp_path / name)], "id").rows())
    assert [{"id": row.id, "state": row.state} for row in rows] == ROWS
    assert RowSource([tmp_path / name], "id").survey() == (2, "text")


def test_several_columns_make_an_object_and_a_line_may_be_the_state(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", [{"n": 7, "x": 1, "y": None}])
    (row,) = RowSource([path], "n", ("x", "y")).rows()
    assert (row.id, row.state) == (7, {"x": 1, "y": None})
    lines = write_lines(tmp_path / "b.jsonl", ["text", ["a"], {"state": {"a": 1}}])
    assert [(r.id, r.state) for r in RowSource([lines]).rows()] == [
        (1, "text"),
        (2, ["a"]),
        (3, {"a": 1}),
    ]


def test_globs_are_sorted_and_rows_are_numbered_through(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl"):
        write_lines(tmp_path / name, [name])
    files = find_files([str(tmp_path / "*.jsonl")])
    assert [(row.id, row.state) for row in RowSource(files).rows()] == [
        (1, "a.jsonl"),
        (2, "b.jsonl"),
    ]
    for patterns, fault in (
        ([str(tmp_path)], "is a folder"),
        ([str(tmp_path / "*.csv")], "no file matches it"),
        ([str(tmp_path / "a.jsonl"), str(tmp_path / "*.jsonl")], "given twice"),
    ):
        with pytest.raises(InvalidInputError, match=fault):
            find_files(patterns)


SPOILED: list[tuple[str, bytes, str]] = [
    ("a.jsonl", b'{"state": "a"}\n{"state": "b', r"a\.jsonl, line 2: is not JSON"),
    ("a.jsonl", b'{"state": "a"}\n\n{"state": "\xff"}\n', r"line 3: is not UTF-8"),
    ("a.jsonl", b'{"state": "a"}\n{"state": 7}\n', r"line 2, state: must be text.*not int"),
    ("a.jsonl", b'{"state": "a"}\n{"state": null}\n', r"line 2, state: is missing"),
    ("a.jsonl", b'{"state": "a"}\n{"text": "b"}\n', r"line 2: has no column 'state'; it has text"),
    ("a.jsonl", b'{"state": "a"}\n7\n', r"line 2: must be text.*not int"),
    ("a.jsonl", b'{"state": "a"}\n{"state": NaN}\n', r"line 2: has NaN"),
    ("a.csv", b"id,state\n1,a\n2\n", r"a\.csv, line 3: has 1 cell, and the header 2"),
    (
        "a.csv",
        b"id,state\n1,a\n2,b,c\n",
        r"line 3: has 3 cells, .* a text with commas needs double",
    ),
    ("a.tsv", b"id\tstate\n1\ta\n2\tb\tc\n", r"line 3: has 3 cells, .* a text with tabs needs"),
    ("a.csv", b"id,state\n1,a\n2, \n", r"a\.csv, line 3, state: is blank; fill it in or remove"),
    ("a.jsonl", b'"a"\nplain text\n', r"line 2: is not JSON.*; put a text in double quotes"),
    ("a.csv", b'id,state\n1,"a\n\nb"\n2,"torn', r"a\.csv, line 5: is not CSV"),
    ("a.csv", b"id,state\n1,a\n2,\xff\n", r"line 3, state: is not UTF-8"),
    ("a.csv", b"id,state\n1,a\n2," + b"x" * 200_000 + b"\n", r"line 3: is not CSV: field larger"),
]


@pytest.mark.parametrize(("name", "data", "fault"), SPOILED)
def test_what_is_wrong_with_a_row_belongs_to_it(
    tmp_path: Path, name: str, data: bytes, fault: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    good, bad = RowSource([path]).rows()
    assert good.state in ("a", "a\n\nb")
    assert bad.id == 2
    with pytest.raises(InvalidInputError, match=fault):
        raise bad.state  # type: ignore[misc]
    assert RowSource([path]).survey() == (2, "integer")


def test_a_text_in_parquet_that_is_not_utf8_spoils_its_row(tmp_path: Path) -> None:
    texts = pyarrow.array([b"a", b"\xff", b"c"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"state": texts}), tmp_path / "a.parquet")
    first, second, third = RowSource([tmp_path / "a.parquet"]).rows()
    assert (first.state, third.state) == ("a", "c")
    assert "row 2: is not UTF-8" in str(second.state)


REFUSED: list[tuple[str, list[dict[str, Any]], str]] = [
    ("a.jsonl", [{"id": 1, "state": ""}, {"state": ""}], r"line 2, id: is missing"),
    ("a.csv", [{"id": 1, "state": ""}, {"id": "", "state": ""}], r"line 3, id: is missing"),
    ("a.jsonl", [{"id": 1, "state": ""}] * 2, r"line 2, id: 1 is already the id of .*line 1"),
    ("a.parquet", [{"id": "x", "state": ""}] * 2, r"row 2, id: 'x' is already .*row 1"),
    ("a.jsonl", [{"id": 1, "state": ""}, {"id": "1", "state": ""}], r"line 2, id: .*one kind"),
    ("a.jsonl", [{"id": 1.5, "state": ""}], r"line 1, id: must be text or a whole number"),
    ("a.jsonl", [{"id": 1 << 63, "state": ""}], r"line 1, id: .*64 bits"),
    ("a.jsonl", [{"id": "\ud800", "state": ""}], r"line 1, id: has a lone surrogate"),
    ("a.csv", [{"id": 1, "body": ""}], r"a\.csv: has no column 'state'; it has id, body"),
    ("a.parquet", [{"id": 1, "body": ""}], r"a\.parquet: has no column 'state'"),
    ("a.jsonl", [{"id": 1, "b": ""}], r"line 1: has no column 'state'; it has id, b, and neither"),
    ("a.txt", [{"id": 1, "state": ""}], r"a\.txt: has a suffix that is none of"),
]


@pytest.mark.parametrize(("name", "rows", "fault"), REFUSED)
def test_bad_ids_and_missing_columns_are_refused(
    tmp_path: Path, name: str, rows: list[dict[str, Any]], fault: str
) -> None:
    path = write(tmp_path / name, rows)
    with pytest.raises(InvalidInputError, match=fault):
        RowSource([path], "id").survey()


def test_ids_are_compared_across_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thisthat.scale.source._IDS", 7)
    first = numbered(tmp_path / "a.jsonl", 50)
    second = write_lines(tmp_path / "b.jsonl", [{"id": "t-3", "state": ""}])
    with pytest.raises(InvalidInputError, match=r"b\.jsonl, line 1, id: 't-3' .*a\.jsonl, line 4"):
        RowSource([first, second], "id").survey()


def test_damaged_and_empty_files_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl.gz", ROWS * 5000)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match=r"a\.jsonl\.gz, after line \d+: .*ends in the mid"):
        RowSource([path]).survey()
    (tmp_path / "b.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InvalidInputError, match=r"b\.parquet, after row 0: cannot be read"):
        RowSource([tmp_path / "b.parquet"]).survey()
    (tmp_path / "c.jsonl").write_bytes(b"\n")
    with pytest.raises(InvalidInputError, match=r"c\.jsonl: has no rows"):
        RowSource([tmp_path / "c.jsonl"]).survey()
    (tmp_path / "d.csv").write_bytes(b"state,state\n1,2\n")
    with pytest.raises(InvalidInputError, match=r"d\.csv: has the column 'state' twice"):
        RowSource([tmp_path / "d.csv"]).survey()
