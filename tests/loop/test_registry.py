"""The registry: aliases follow events, rolling back returns, and a torn line is no event."""

from __future__ import annotations

import os
from multiprocessing import get_context
from pathlib import Path

import pytest

from thisthat.errors import InvalidInputError
from thisthat.loop.registry import FILE, Registry


def filled(folder: Path) -> Registry:
    registry = Registry(folder, clock=lambda: 7.0)
    registry.register("one", "default", "a" * 8, by="ann")
    registry.register("two", "taught", "b" * 8, by="ann", parent="one", data="rows")
    return registry


def test_promotion_and_rolling_back(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    registry.point("champion", "one", "ann", "first")
    registry.point("candidate", "two", "ben", "to be tried")
    assert registry.now().candidate == "two"
    registry.point("champion", "two", "ben", "not worse")
    assert (registry.now().champion, registry.now().candidate) == ("two", None)
    assert registry.roll_back("canary", "harm") == "one"
    assert registry.now().champion == "one"
    with pytest.raises(InvalidInputError, match="no version before"):
        registry.roll_back("canary", "again")
    assert [event.number for event in registry.history()] == [1, 2, 3, 4, 5, 6]
    assert registry.history()[-1].reason == "harm"


def test_evaluations_stay_with_their_version(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    registry.evaluated("two", {"accuracy": 0.9}, by="ann")
    assert Registry(tmp_path).now().versions["two"].evaluations == ({"accuracy": 0.9},)


def test_what_does_not_fit_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(InvalidInputError, match="registered already"):
        registry.register("one", "x", "c", by="ann")
    with pytest.raises(InvalidInputError, match="'three' is not registered; there are: one, two"):
        registry.point("champion", "three", "ann", "")
    with pytest.raises(InvalidInputError, match="parent"):
        registry.register("four", "x", "c", by="ann", parent="three")
    assert (tmp_path / FILE).read_bytes() == before


def test_a_line_cut_short_is_left_out_and_written_over(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"number": 3, "what": "poin')
    assert len(registry.history()) == 2
    registry.point("champion", "one", "ann", "")
    assert registry.now().champion == "one"
    assert len(registry.history()) == 3


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    text = (tmp_path / FILE).read_text().replace('"by": "ann"', '"by" "ann"', 1)
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InvalidInputError, match=r"line 1"):
        registry.history()


def _register(folder: Path, who: int) -> None:
    for number in range(10):
        Registry(folder).register(f"{who}-{number}", "x", "y", by=str(os.getpid()))


def test_several_processes_write_one_history(tmp_path: Path) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=_register, args=(tmp_path, who)) for who in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert [event.number for event in Registry(tmp_path).history()] == list(range(1, 21))
    assert len(Registry(tmp_path).now().versions) == 20
