from pathlib import Path

import pytest

from thisthat import cores


def topology(folder: Path, siblings: list[str]) -> Path:
    for processor, text in enumerate(siblings):
        path = folder / f"cpu{processor}" / "topology" / "thread_siblings_list"
        path.parent.mkdir(parents=True)
        path.write_text(f"{text}\n")
    return folder


@pytest.fixture(autouse=True)
def _four_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_allowed_processors", lambda: [0, 1, 2, 3])


def test_two_threads_of_a_core_count_once(tmp_path: Path) -> None:
    folder = topology(tmp_path, ["0,2", "1,3", "0,2", "1,3"])
    assert cores.usable_cores(folder, tmp_path / "none") == 2


def test_every_processor_counts_where_nothing_is_known(tmp_path: Path) -> None:
    assert cores.usable_cores(tmp_path, tmp_path / "none") == 4


@pytest.mark.parametrize(("quota", "wanted"), [("150000 100000", 2), ("max 100000", 4), ("?", 4)])
def test_a_container_may_allow_less(quota: str, wanted: int, tmp_path: Path) -> None:
    path = tmp_path / "cpu.max"
    path.write_text(quota)
    assert cores.usable_cores(tmp_path, path) == wanted
