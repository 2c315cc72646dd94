import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import BinaryIO

import pytest

from thisthat.files import new_folder, remove_leftovers, write_atomically


def test_bytes_text_and_writers_are_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new" / "bytes", b"one")
    write_atomically(tmp_path / "text", "zwei: ä")
    write_atomically(tmp_path / "writer", lambda file: file.write(b"three") and None)
    assert (tmp_path / "new" / "bytes").read_bytes() == b"one"
    assert (tmp_path / "text").read_text(encoding="utf-8") == "zwei: ä"
    assert (tmp_path / "writer").read_bytes() == b"three"


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_that_fails_halfway_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def half(file: BinaryIO) -> None:
        file.write(b"ha")
        raise RuntimeError("interrupted")

    with pytest.raises(RuntimeError):
        write_atomically(path, half)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_rights_that_the_umask_leaves(
    tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_a_file_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    for name in ("new", "empty"):
        if name == "empty":
            (tmp_path / name).mkdir()
        with new_folder(tmp_path / name) as made:
            write_atomically(made / "a", "1")
            assert not (tmp_path / name / "a").exists()
        assert (tmp_path / name / "a").read_text() == "1"
    (tmp_path / "file").write_text("mine")
    for name in ("new", "file"):
        with pytest.raises(FileExistsError, match="already exists"), new_folder(tmp_path / name):
            pass
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "stopped"):
        raise KeyboardInterrupt
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file", "new"]


def test_a_process_killed_while_it_fills_a_folder_leaves_the_name_free(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys; from thisthat.files import new_folder, write_atomically\n"
        "with new_folder(pathlib.Path(sys.argv[1])) as made:\n"
        "    write_atomically(made / 'a', '1'); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "new")], check=False)
    assert done.returncode == 9
    assert not (tmp_path / "new").exists()
    with new_folder(tmp_path / "new"):
        held = [path.name for path in tmp_path.iterdir()]
        assert len(held) == (2 if sys.platform == "win32" else 1), "what was left is removed"
        with new_folder(tmp_path / "new"):
            assert len(list(tmp_path.iterdir())) == len(held) + 1, "not what another one fills"
        (tmp_path / "new").rmdir()


def test_what_killed_writers_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a[b].bin"
    left = [tmp_path / f".{path.name}.{number:016x}" for number in range(3)]
    others = [path, tmp_path / ".a[b].bin.backup", tmp_path / f".b.bin.{0:016x}"]
    for each in (*left, *others):
        each.touch()
    remove_leftovers(path)
    assert sorted(tmp_path.iterdir()) == sorted(others)


def test_a_mode_that_is_asked_for_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o666)
    write_atomically(path, b"new", mode=0o640)
    assert path.stat().st_mode & 0o777 == 0o640
