from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from thisthat.checkpoint.store import home, locked, sha256_of


def test_home_is_chosen_by_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "mine"))
    assert home() == tmp_path / "mine"
    monkeypatch.delenv("THISTHAT_HOME")
    assert home().name == "thisthat"


def test_a_lock_lets_one_in_at_a_time(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")

    def add_one(_: int) -> None:
        with locked(tmp_path / "lock"):
            before = int(counter.read_text())
            counter.write_text(str(before + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_one, range(200)))
    assert counter.read_text() == "200"


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path, store: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    assert sha256_of(path) == hashlib.sha256(b"one").hexdigest()
    assert len(list((store / "hashes").iterdir())) == 1
    assert sha256_of(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert sha256_of(path) == hashlib.sha256(b"two").hexdigest()


def test_a_damaged_note_is_not_believed(tmp_path: Path, store: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    right = sha256_of(path)
    (note,) = (store / "hashes").iterdir()
    note.write_text("[")
    assert sha256_of(path) == right


def test_a_store_that_cannot_be_written_still_hashes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "a-file"
    blocked.write_bytes(b"one")
    monkeypatch.setenv("THISTHAT_HOME", str(blocked))
    assert sha256_of(blocked) == hashlib.sha256(b"one").hexdigest()
