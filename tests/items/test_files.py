from __future__ import annotations

import json
from pathlib import Path

import pytest
import zstandard

from thisthat.errors import InvalidInputError
from thisthat.items.files import read_items, write_items
from thisthat.items.item import Item

ITEMS = [
    Item("user", "refund", "boolean", "Order 1 – 3 €", "Refund?", (("no", None), ("yes", "ok")), 1),
    Item(
        "user",
        "route",
        "choice",
        {"queue": ["a", {"b": 1.5}], "open": None},
        "Which queue?",
        (("a", None), ("b", "second"), ("c", None)),
        2,
        target=(0.25, 0.25, 0.5),
        split="dev",
        facts={"size": 8, "nested": {"q": 0.5}},
    ),
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst", "a.parquet"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    many = ITEMS * 3000
    assert write_items(tmp_path / name, many) == 6000
    assert list(read_items(tmp_path / name)) == many


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.zst"])
def test_broken_line_is_named(tmp_path: Path, name: str) -> None:
    good = json.dumps(ITEMS[0].as_dict())
    out_of_range = json.dumps({**ITEMS[0].as_dict(), "answer": 2})
    for bad, reason in (
        ("{oops", "not JSON"),
        ("[1]", "JSON object"),
        ('{"kind": NaN}', "NaN"),
        ("{}", "'kind' is missing"),
        (out_of_range, "answer is 2"),
    ):
        text = "\n".join([good] * 700 + [bad] + [good] * 700).encode()
        packed = zstandard.compress(text) if name.endswith("zst") else text
        path = tmp_path / name
        path.write_bytes(packed)
        with pytest.raises(InvalidInputError, match=reason) as caught:
            list(read_items(path))
        assert f"{name}, line 701" in str(caught.value)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\n\xff\n")
    with pytest.raises(InvalidInputError, match=r"a\.jsonl, line 2: is not UTF-8"):
        list(read_items(tmp_path / "a.jsonl"))


def test_cut_off_zstandard(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    write_items(path, ITEMS * 1000)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InvalidInputError, match="ends in the middle"):
        list(read_items(path))


def test_damaged_zstandard(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    write_items(path, ITEMS * 1000)
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InvalidInputError, match=r"a\.jsonl\.zst, after line \d+: .* damaged"):
        list(read_items(path))


def test_several_frames(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    write_items(path, ITEMS)
    path.write_bytes(path.read_bytes() * 3)
    assert list(read_items(path)) == ITEMS * 3


def test_last_line_without_newline_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = json.dumps(ITEMS[0].as_dict())
    path.write_text(f"\n{line}\n\n{line}")
    assert list(read_items(path)) == [ITEMS[0]] * 2


def test_broken_parquet_row_is_named(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    row = ITEMS[0].as_dict() | {"options": ["no", "yes"]}
    rows = [row, row, row | {"answer": 7}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    with pytest.raises(InvalidInputError, match=r"a\.parquet, row 3: answer is 7"):
        list(read_items(tmp_path / "a.parquet"))
    (tmp_path / "b.parquet").write_bytes(b"nothing")
    with pytest.raises(InvalidInputError, match=r"b\.parquet, after row 0"):
        list(read_items(tmp_path / "b.parquet"))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_items(path, ITEMS)

    def failing() -> object:
        yield ITEMS[0]
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        write_items(path, failing())  # type: ignore[arg-type]
    assert list(read_items(path)) == ITEMS


def test_a_table_under_another_name_is_told_what_to_be_called(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text("state,refund\nWhere is it?,false\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"line 1: is not JSON.*must end in \.csv"):
        list(read_items(path))
    path.write_text('{"state": \n', encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        list(read_items(path))
    assert ".csv" not in str(caught.value)
