"""The registry: aliases follow events, rolling back returns, and a torn line is no event."""

from __future__ import annotations

import os
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from thisthat.errors import InvalidInputError
from thisthat.loop.experiment import Experiment, parse_ramp
from thisthat.loop.registry import FILE, Pointed, Registry


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


def trial(**more: Any) -> Experiment:
    return Experiment("", "canary", **{"version": "two", "champion": "", **more})


def test_an_experiment_runs_until_it_ends(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    registry.point("champion", "one", "ann", "first")
    begun = registry.start(trial(lam=0.5, share=0.1, ramp=((0.3, 100),)), "ben")
    assert (begun.name, begun.champion, begun.started) == ("canary-4", "one", 7.0)
    assert Registry(tmp_path).now().running == {"canary-4": begun}
    assert registry.now().candidate == "two"
    assert [begun.due(count) for count in (0, 99, 100)] == [0.1, 0.1, 0.3]
    assert registry.change("ramped", begun.name, "server", "", {"share": 0.3})
    assert not registry.change("ramped", begun.name, "another", "", {"share": 0.3})
    assert registry.now().running[begun.name] == begun.ramped(0.3)
    assert registry.change("ready", begun.name, "server", "", {})
    assert not registry.change("ready", begun.name, "server", "", {})
    assert registry.now().running[begun.name].ready
    assert registry.change("ended", begun.name, "server", "harm", {"harm": 21.0})
    assert not registry.change("ended", begun.name, "another", "harm", {"harm": 21.0})
    assert registry.now().running == {}
    assert registry.history()[-1].facts == {"experiment": "canary-4", "harm": 21.0}


def test_a_promotion_ends_what_compared_with_another_champion(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    registry.point("champion", "one", "ann", "first")
    registry.start(trial(), "ben")
    registry.point("champion", "two", "ben", "not worse", lam=0.5)
    assert registry.now().running == {}
    assert registry.now().champions[-1] == Pointed("two", 0.5)


def test_what_cannot_be_tried_is_refused(tmp_path: Path) -> None:
    registry = filled(tmp_path)
    registry.register("other", "x", "c" * 8, by="ann")
    with pytest.raises(InvalidInputError, match="champion: there is none"):
        registry.start(trial(), "ben")
    registry.point("champion", "one", "ann", "first")
    before = (tmp_path / FILE).read_bytes()
    for version, message in (
        ("three", "not registered"),
        ("one", "is the champion"),
        ("other", "parent: 'other' was taught on a base, not on the champion one"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            registry.start(trial(version=version), "ben")
    assert (tmp_path / FILE).read_bytes() == before
    registry.start(trial(), "ben")
    with pytest.raises(InvalidInputError, match="being tried already: canary-5"):
        registry.start(trial(), "ben")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 0.0}, "share: must be above 0 and at most 0.99, not 0"),
        ({"share": 1.0}, "share"),
        ({"lam": 0.0}, "lambda: must be above 0"),
        ({"lam": 1.5}, "lambda"),
        ({"ramp": ((0.01, 10),)}, "ramp: 0.01@10 must be more"),
        ({"ramp": ((0.2, 10), (0.3, 10))}, "ramp"),
        ({"margin": 1.0}, "margin"),
        ({"alpha": 0.0}, "alpha"),
        ({"slow_ms": 0.0}, "slow_ms"),
    ],
)
def test_bad_settings_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        trial(**given)


def test_ramps_are_read() -> None:
    assert parse_ramp(["0.2@500", "0.5@1000"], "--ramp") == ((0.2, 500), (0.5, 1000))
    with pytest.raises(InvalidInputError, match=r"--ramp: .* is not a share and a number"):
        parse_ramp(["0.2"], "--ramp")
