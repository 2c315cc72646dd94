"""What ``bench loop`` measures on real servers, on a small random model."""

from __future__ import annotations

import pytest

from tests.lab.train import tiny
from thisthat.audit.store import SQLiteStore
from thisthat.loop.outcomes import received
from thisthat_lab.bench.loop_servers import kills, rollback, slowdown
from thisthat_lab.bench.loop_servers.world import World, make_world, state, units
from thisthat_lab.bench.result import Bar
from thisthat_lab.bench.systems.protocol import SystemOptions
from thisthat_lab.bench.timing.served import LOG

OPTIONS = SystemOptions()


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> str:
    sizes = {"hidden_size": 128, "intermediate_size": 192, "head_dim": 64}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1}
    folder = tmp_path_factory.mktemp("model") / "parent"
    return str(tiny.write_checkpoint(folder, **sizes, **heads))


@pytest.fixture(scope="module")
def world(parent: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"), parent, OPTIONS)


def reached(bars: list[Bar], label: str) -> bool | None:
    return next(bar for bar in bars if bar.label == label).reached("any")


def test_a_harmful_canary_is_rolled_back_everywhere_and_nothing_is_lost(world: World) -> None:
    steps: list[int] = []
    lines, bars, series = rollback.measure(world, OPTIONS, 1, steps.append)
    found = {line.label: line.value for line in lines}
    assert steps == [1]
    assert found["of these, lost"] == 0
    assert found["outcomes until the verdict, most"] > 0  # type: ignore[operator]
    assert reached(bars, "answers that are another after a rollback")
    assert len(series["seconds"]) == 1
    assert world.registry.now().running == {}


def test_outcomes_are_counted_once_whatever_is_killed(world: World) -> None:
    lines, bars, _ = kills.measure(world, OPTIONS, 2, lambda _: None)
    found = {line.label: line.value for line in lines}
    assert found["kills of the server meanwhile"] >= 1  # type: ignore[operator]
    assert [bar.label for bar in bars if not bar.reached("any")] == []
    keys = [each.outcome.key or "" for each in received(SQLiteStore(world.folder / LOG))]
    assert len([key for key in keys if key.startswith("o-")]) == kills.CLIENTS * 2


def test_processor_time_is_compared_in_turns(world: World, parent: str) -> None:
    states = [state(number) for number in range(2 * slowdown.BLOCK)]
    lines, bars, series = slowdown.measure(world, parent, OPTIONS, states, 2, lambda _: None)
    assert len(series["with"]) == len(series["without"]) == 2
    assert min(series["with"]) > 0
    assert bars[0].value == pytest.approx(sum(series["with"]) / sum(series["without"]))
    assert lines[0].low is not None
    assert world.registry.now().running == {}


def test_units_are_one_of_each_arm(world: World) -> None:
    tried = world.canary(0.3)
    world.registry.change("ended", tried.name, "test", "", {})
    stays, goes = units(tried, 0.3)
    assert stays != goes
