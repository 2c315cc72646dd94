from pathlib import Path

import pytest

from thisthat import cpus
from thisthat.errors import InvalidInputError


def topology(folder: Path, siblings: list[str]) -> Path:
    for processor, text in enumerate(siblings):
        path = folder / f"cpu{processor}" / "topology" / "thread_siblings_list"
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n")
    return folder


@pytest.fixture(autouse=True)
def _four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "_allowed_processors", lambda: [0, 1, 2, 3])
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_two_threads_of_a_core_count_once(tmp_path: Path) -> None:
    folder = topology(tmp_path, ["0,2", "1,3", "0,2", "1,3"])
    assert cpus.count_cores(folder, tmp_path / "none").usable == 2


def test_every_processor_counts_where_nothing_is_known(tmp_path: Path) -> None:
    assert cpus.count_cores(tmp_path, tmp_path / "none").usable == 4


@pytest.mark.parametrize(("quota", "wanted"), [("150000 100000", 2), ("max 100000", 4), ("?", 4)])
def test_a_container_may_allow_less(quota: str, wanted: int, tmp_path: Path) -> None:
    path = tmp_path / "cpu.max"
    path.write_text(quota)
    assert cpus.count_cores(tmp_path, path).usable == wanted


@pytest.mark.parametrize(("said", "wanted"), [("", 4), ("1", 1), (" 3 ", 3), ("2,8", 2), ("9", 4)])
def test_the_user_may_want_less(
    said: str, wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert cpus.count_cores(tmp_path, tmp_path / "none").usable == wanted


@pytest.mark.parametrize("said", ["0", "-1", "two", "1.5"])
def test_threads_that_are_no_number_are_refused(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    with pytest.raises(InvalidInputError, match="OMP_NUM_THREADS: is"):
        cpus.count_cores(tmp_path, tmp_path / "none")


def test_every_limit_is_told_beside_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = topology(tmp_path, [f"{n // 2 * 2}-{n // 2 * 2 + 1}" for n in range(16)])
    (tmp_path / "cpu.max").write_text("150000 100000")
    monkeypatch.setattr(cpus.os, "cpu_count", lambda: 16)
    monkeypatch.setattr(cpus, "_allowed_processors", lambda: list(range(6)))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = cpus.count_cores(folder, tmp_path / "cpu.max")
    assert (found, found.usable) == (cpus.Cores(8, affinity=3, quota=2, wanted=1), 1)


def counters(path: Path, *lines: str) -> Path:
    path.write_text("cpu 1 2 3 4 5 6 7 8 0 0\n" + "\n".join(lines) + "\nintr 12\n")
    return path


def test_busy_time_is_told_apart_by_where_this_process_may_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = counters(tmp_path / "stat", "cpu0 0 0 0 0 0", "cpu3 0 0 0 0 0", "cpu4 5 5 5 5 5")

    def pass_time(seconds: float) -> None:
        # One of ours works half the time and waits for a disk in the other half, one is idle.
        counters(path, "cpu0 30 0 20 0 50", "cpu3 0 0 0 100 0", "cpu4 105 5 5 5 5")

    monkeypatch.setattr(cpus.time, "sleep", pass_time)
    assert cpus.busy_processors(counters=path) == cpus.Busy(ours=0.25, others=1.0)


def test_nothing_is_said_where_nothing_is_counted(tmp_path: Path) -> None:
    assert cpus.busy_processors(0, tmp_path / "none") == cpus.Busy(None, None)
