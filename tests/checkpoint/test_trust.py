"""What another user of the machine can have written is not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from thisthat.checkpoint import trust
from thisthat.checkpoint.trust import UntrustedFileError, check_trusted, read_trusted

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


def foreign(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the file to somebody else, or become somebody else where only root may do that."""
    if os.geteuid() == 0:
        os.chown(path, 65534, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"ours")
    path.chmod(0o644)
    return path


def test_our_own_file_is_read(file: Path) -> None:
    assert read_trusted(file) == b"ours"
    check_trusted(file)
    file.parent.chmod(0o755)
    check_trusted(file.parent)


@pytest.mark.parametrize("mode", [0o646, 0o666])
def test_a_file_that_others_may_write_is_refused(file: Path, mode: int) -> None:
    file.chmod(mode)
    for check in (read_trusted, check_trusted):
        with pytest.raises(UntrustedFileError, match=f"written by others .mode {mode:o}.*planted"):
            check(file)


def test_a_group_may_write_only_where_it_is_the_users_own(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.chmod(0o664)
    monkeypatch.setattr(trust, "_is_private", lambda group: True)
    check_trusted(file)
    monkeypatch.setattr(trust, "_is_private", lambda group: False)
    with pytest.raises(UntrustedFileError, match="written by others"):
        check_trusted(file)


def test_groups_of_users_and_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import grp
    import pwd

    def group(name: str, *members: str) -> None:
        found = grp.struct_group((name, "x", 1000, list(members)))
        monkeypatch.setattr(grp, "getgrgid", lambda gid: found)

    user = pwd.getpwuid(os.geteuid()).pw_name
    for members, private in (((), True), ((user,), True), (("eve",), False)):
        group(user, *members)
        assert trust._is_private(1000) == private
    group("users")
    assert not trust._is_private(1000)
    assert trust._is_private(0)


def test_the_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign(file, monkeypatch)
    for check in (read_trusted, check_trusted):
        with pytest.raises(UntrustedFileError, match=r"belongs to user \d+.*THISTHAT_HOME"):
            check(file)


def test_a_link_and_a_pipe_are_refused(file: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe"):
        with pytest.raises(UntrustedFileError, match=r"is a link|is neither a file"):
            read_trusted(tmp_path / name)
        with pytest.raises(UntrustedFileError, match="is neither a file nor a folder"):
            check_trusted(tmp_path / name)
