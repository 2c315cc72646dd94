import gzip
from pathlib import Path

import pytest

from thisthat.errors import InvalidInputError
from thisthat.inputs import json_lines, lines, load_json, read_json, read_text


def test_lines_come_with_their_place_and_blank_ones_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n"b"\n', encoding="utf-8")
    assert list(json_lines(path)) == [(f"{path}, line 1", {"a": 1}), (f"{path}, line 3", "b")]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{broken", "is not JSON"),
        ("[NaN]", "has NaN, which JSON cannot hold"),
        (b"\xff", "is not UTF-8"),
        ("[" * 100_000, "is nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str | bytes, fault: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^here: {fault}"):
        load_json(text, "here")


@pytest.mark.parametrize(
    ("text", "place"), [('{"a": \n', "column 7"), ('{"a": 1,\n "b" 2}', "line 2, column 6")]
)
def test_what_is_not_json_is_refused_with_its_column(text: str, place: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"is not JSON: Expecting .* \({place}\)"):
        load_json(text, "here")


def test_text_in_another_encoding_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"state,red\nM\xfcnchen,yes\n")
    with pytest.raises(InvalidInputError, match=r"a\.csv, line 2: is not UTF-8 text.*CSV UTF-8"):
        read_text(tmp_path / "a.csv")


def test_a_key_that_stands_twice_in_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"b": {"a": 1, "c": 2, "a": 3}}', encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_json(path)
    assert str(caught.value) == f"{path}: has the key 'a' twice in one object"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(InvalidInputError) as caught:
        read_json(path)
    assert str(caught.value) == f"{path}: cannot be read: No such file or directory"


def test_compressed_lines_are_known_by_their_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(b"1\n2") + gzip.compress(b"3\n\n4"))
    assert list(lines(path)) == [b"1\n", b"23\n", b"\n", b"4"]
    assert [value for _, value in json_lines(path)] == [1, 23, 4]
    path.write_bytes(path.read_bytes()[:30] + b"damage" + path.read_bytes()[36:])
    with pytest.raises(InvalidInputError, match=r"a\.jsonl, after line \d+: .* damaged"):
        list(lines(path))


def test_lines_longer_than_a_read_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    long = [b"x" * 400_000 + b"\n", b"short\n", b"y" * 400_000]
    path.write_bytes(b"".join(long))
    assert list(lines(path)) == long
