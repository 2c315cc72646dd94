from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from thisthat.checkpoint.store import forget_hashes, home, sha256_of


def test_home_is_chosen_by_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THISTHAT_HOME", str(tmp_path / "mine"))
    assert home() == tmp_path / "mine"
    monkeypatch.delenv("THISTHAT_HOME")
    assert home().name == "thisthat"


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


def test_a_file_whose_time_is_set_back_is_hashed_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    before = path.stat()
    assert sha256_of(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"two")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert sha256_of(path) == hashlib.sha256(b"two").hexdigest()


def test_hashes_are_forgotten_and_planted_ones_not_believed(tmp_path: Path, store: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    right = sha256_of(path)
    (note,) = (store / "hashes").iterdir()
    note.write_text(note.read_text().replace(right, "0" * 64))
    assert sha256_of(path) == "0" * 64
    note.chmod(0o666)
    assert sha256_of(path) == right
    forget_hashes()
    assert not note.exists()
