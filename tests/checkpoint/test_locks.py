from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from thisthat.checkpoint import locks
from thisthat.checkpoint.locks import locked


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


HOLDER = """
import sys, time
from pathlib import Path
from thisthat.checkpoint.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""
STRANGER = """
import fcntl, sys
file = open(sys.argv[1], "a")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize(("program", "since"), [(HOLDER, True), (STRANGER, False)])
def test_a_lock_that_hangs_names_its_holder_and_ends(
    program: str,
    since: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if not since and not Path("/proc/locks").exists():
        pytest.skip("the system does not tell who holds a lock")
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    monkeypatch.setattr(locks, "_QUIET_SECONDS", 0.05)
    when = r" since 20\d\d-[^ ]+\+00:00" if since else ""
    said = re.escape(f"{path}: is locked by process {holder.pid}") + when + "; gave up after"
    with pytest.raises(TimeoutError, match=said), locked(path, patience=0.3):
        pytest.fail("the lock is held")
    assert caplog.text.count(f"waiting for {path}, locked by process {holder.pid}") == 1
    holder.communicate("\n", timeout=20)
    with locked(path, patience=0):
        pass
    assert path.read_bytes() == b""


def test_other_users_cannot_open_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    path.chmod(0o644)
    with locked(path):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_lock_whose_file_is_deleted_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise two would hold it: one the deleted file, one the new."""
    path, tries = tmp_path / "lock", []
    real = locks._try

    def deleted_meanwhile(handle: int) -> bool:
        tries.append(handle)
        if len(tries) == 1:
            path.unlink()
        return real(handle)

    monkeypatch.setattr(locks, "_try", deleted_meanwhile)
    with locked(path):
        assert len(tries) == 2
        assert str(os.getpid()) in path.read_text()
