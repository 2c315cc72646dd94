"""Turns: who gets how many, in which order, and what survives a stop."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from thisthat_lab.bench.timing import contest
from thisthat_lab.bench.timing.contest import Entry, Limits, Turn, TurnJournal, hold


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "PAUSE", 0.0)


class Clock:
    """Time that passes only when an entry works."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(contest.time, "perf_counter", lambda: self.now)

    def entry(self, label: str, seconds: float, log: list[str], at_once: int = 1) -> Entry:
        def ask(states: Sequence[str]) -> list[dict[str, str]]:
            self.now += seconds * len(states)
            log.append(f"{label} {states[0]}")
            return [{"q": f"{label[0]}{state}"} for state in states]

        return Entry(label, ask, at_once)


def held(
    entries: Sequence[Entry], folder: Path, limits: Limits, states: int = 100
) -> dict[str, list[Turn]]:
    journal = TurnJournal(folder, {"name": "test"})
    return hold("work", entries, str, limits, journal, states=states, warm_up="warm")


def test_entries_take_turns_and_slow_ones_get_fewer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, log = Clock(monkeypatch), list[str]()
    entries = [clock.entry("a", 0.5, log), clock.entry("b", 2.0, log), clock.entry("c", 40.0, log)]
    found = held(entries, tmp_path, Limits(seconds=4, patience=9, least=3, most=6))
    assert {label: len(turns) for label, turns in found.items()} == {"a": 6, "b": 3, "c": 1}
    assert [turn.milliseconds for turn in found["b"]] == [2000.0] * 3
    assert log[:3] == ["a warm", "b warm", "c warm"]
    # Every entry of a round is asked about the same state, in rotating order.
    assert log[3:10] == ["a 0", "b 0", "c 0", "b 1", "a 1", "a 2", "b 2"]


def test_work_that_is_done_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, log = Clock(monkeypatch), list[str]()
    entries = [clock.entry("a", 0.001, log, at_once=4)]
    (turns,) = held(entries, tmp_path, Limits(100, 100), states=10).values()
    assert [turn.states for turn in turns] == [4, 4, 2]


def test_answers_are_compared_with_the_first_entrys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, log = Clock(monkeypatch), list[str]()
    entries = [clock.entry("a", 1, log), clock.entry("a too", 1, log), clock.entry("b", 1, log)]
    found = held(entries, tmp_path, Limits(2, 2))
    assert [(turn.same, turn.compared) for turn in found["a too"]] == [(1, 1)] * 2
    assert [(turn.same, turn.compared) for turn in found["b"]] == [(0, 1)] * 2


def test_a_stopped_contest_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, log = Clock(monkeypatch), list[str]()
    limits = Limits(seconds=5, patience=5)
    calm = clock.entry("a", 1, log)

    def fail(states: Sequence[str]) -> list[dict[str, str]]:
        if states[0] == "2":
            raise KeyboardInterrupt
        return calm.ask(states)

    with pytest.raises(KeyboardInterrupt):
        held([Entry("a", fail)], tmp_path, limits)
    (path,) = tmp_path.glob("turns-*.partial.jsonl")
    path.write_bytes(path.read_bytes() + b'\n{"workload": "work", "ent')
    log.clear()
    assert len(held([calm], tmp_path, limits)["a"]) == 5
    assert log == ["a warm", "a 2", "a 3", "a 4"]
    log.clear()
    held([calm], tmp_path, limits)
    assert log == []
    TurnJournal(tmp_path, {"name": "test"}).finish()
    assert not list(tmp_path.glob("turns-*"))
