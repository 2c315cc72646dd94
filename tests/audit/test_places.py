"""A place where no log can be is refused before anything is decided."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from thisthat.audit.log import DecisionLog
from thisthat.audit.places import check_can_log, check_there
from thisthat.errors import InvalidInputError


def test_what_can_be_a_log_is_let_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = DecisionLog("log.sqlite")
    log.begin()
    log.close()
    (tmp_path / "empty.sqlite").touch()
    for place in ("log.sqlite", "empty.sqlite", "new.sqlite", tmp_path / "new.sqlite"):
        check_can_log(place)
    with sqlite3.connect("log.sqlite", isolation_level=None) as locked:
        locked.execute("BEGIN EXCLUSIVE")
        check_can_log("log.sqlite")
    check_can_log("postgresql://nobody@nowhere/log")
    check_there("postgresql://nobody@nowhere/log")
    assert not (tmp_path / "new.sqlite").exists()


def test_what_cannot_is_refused_and_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("state,refund\nhello,yes\n")
    for place, why in (
        (table, "is no SQLite database, so no log; name another file, or move this one away"),
        (tmp_path, "is a folder; name a file in it"),
        (tmp_path / "none" / "log.sqlite", f"there is no folder {tmp_path / 'none'}; make it"),
        (table / "log.sqlite", f"there is no folder {table}; make it"),
    ):
        with pytest.raises(InvalidInputError) as caught:
            check_can_log(place)
        assert str(caught.value).startswith(f"log: {place}: {why}")
    assert table.read_text() == "state,refund\nhello,yes\n"
    monkeypatch.setattr("os.access", lambda place, _: place != tmp_path)
    with pytest.raises(InvalidInputError, match=f"cannot be written: {tmp_path} is not writable"):
        check_can_log(tmp_path / "log.sqlite")
