"""A seed that a measurement takes changes what it asks, in quick runs too."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pytest
from rich.console import Console

from tests.path_engine import path_decider
from thisthat.items.item import Item
from thisthat_lab.bench import measure, suite
from thisthat_lab.bench.journal import set_hash
from thisthat_lab.bench.measure import Context, Measurement, Setting
from thisthat_lab.bench.measurements.questions import branch, lambda_sweep
from thisthat_lab.bench.measurements.speed import (
    gpu,
    host,
    kernels,
    latency,
    load,
    restart,
    taught,
)
from thisthat_lab.bench.measurements.trust import abstain, guarantee
from thisthat_lab.bench.registry import REGISTRY
from thisthat_lab.bench.systems.opening import EngineSystem
from thisthat_lab.bench.timing import texts, training_steps
from thisthat_lab.suites import arithmetic
from thisthat_lab.suites import branch as branch_suite

NUMBERS = ("kernels", "gpu", "training", "loop")
"""What draws numbers first, or hands the seed to another process."""

ASKING = [name for name, entry in REGISTRY.items() if entry.seeded and name not in NUMBERS]


class _DrawnError(Exception):
    """What a measurement drew first, told instead of asked."""


def tell(drawn: object) -> NoReturn:
    raise _DrawnError(drawn)


@pytest.fixture(scope="module")
def drawing() -> dict[Any, Callable[..., list[Item]]]:
    """What draws the suites' items, each of them once."""
    return {each: cache(each.evaluation_items) for each in (branch_suite, arithmetic)}


@pytest.fixture(autouse=True)
def _told_instead(
    drawing: dict[Any, Callable[..., list[Item]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for suite_, draw in drawing.items():
        monkeypatch.setattr(suite_, "evaluation_items", draw)
    for module in (branch, guarantee):
        monkeypatch.setattr(module, "PER_FAMILY", 2)
        monkeypatch.setattr(module, "QUICK_PER_FAMILY", 2)
    monkeypatch.setattr(lambda_sweep, "QUICK_BRANCH_PER_FAMILY", 2)
    same = [replace(item, facts={"surface": "json"}) for item in drawing[branch_suite](2, 0)[:4]]
    sets = lambda_sweep._sets
    monkeypatch.setattr(lambda_sweep, "spatial_items", lambda _: same)
    monkeypatch.setattr(lambda_sweep, "actuator_items", lambda _: same)
    monkeypatch.setattr(
        lambda_sweep, "_sets", lambda given: tell([*map(set_hash, sets(given).values())])
    )
    monkeypatch.setattr(measure, "open_system", lambda *_: EngineSystem(path_decider()))

    def ask(context: Context, name: str, items: Sequence[Item], *_: object) -> NoReturn:
        tell(set_hash(items))

    ticket = texts.ticket
    monkeypatch.setattr(Context, "ask", ask)
    monkeypatch.setattr(abstain, "measure_leakage", lambda items, *_: tell(set_hash(items)))
    for module in (latency, restart):
        monkeypatch.setattr(module, "ticket", lambda rng, words: tell(ticket(rng, words)))
    for module in (host, taught):
        monkeypatch.setattr(module, "state_of", lambda _, rng, tokens: tell(ticket(rng, tokens)))


def measured(name: str) -> Measurement:
    if name == "guarantee":
        return guarantee.measurement_of(guarantee.LabelPlan((500,), 1, None, 0.95))
    return load.measurement_of(1, 1, False) if name == "load" else suite.measurement(name)


def drawn(name: str, quick: bool, seed: int, folder: Path) -> object:
    setting = Setting(quick=quick, seed=seed, out=folder)
    with pytest.raises(_DrawnError) as caught:
        measured(name).run(Context(setting, Console(file=io.StringIO())))
    return caught.value.args[0]


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", ASKING)
def test_what_is_asked_changes_with_the_seed(name: str, quick: bool, tmp_path: Path) -> None:
    first, again, other = (drawn(name, quick, seed, tmp_path) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_drawn_with_the_seed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(kernels, "library_here", lambda: None)
    monkeypatch.setattr(np.random, "default_rng", tell)
    monkeypatch.setattr(gpu, "in_a_process", lambda *_, seed, seconds: tell(seed))
    card = SimpleNamespace(config={"vocab_size": 9})
    monkeypatch.setattr("thisthat.checkpoint.open_checkpoint", lambda _: card)
    monkeypatch.setattr(training_steps, "RandomRows", lambda *given: tell(given[-1]))
    assert REGISTRY[name].seeded
    assert [drawn(name, True, seed, tmp_path) for seed in (3, 4)] == [3, 4]
