"""Growth with an engine whose answers are a hash: places, tokens, and where it stops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.path_engine import path_decider
from thisthat_lab.bench.timing import contest, growth
from thisthat_lab.bench.timing.contest import Limits, TurnJournal
from thisthat_lab.bench.timing.growth import Point, Spending


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Point], list[str]]:
    monkeypatch.setattr(contest, "PAUSE", 0.0)
    monkeypatch.setattr(growth, "STATES", (1, 2, 5, 120))
    spending = Spending(Limits(seconds=0, patience=0, least=1, most=1), seconds_of_states=1e-9)
    steps: list[int] = []
    journal = TurnJournal(tmp_path, {})
    points, caveats = growth.measure(path_decider(), journal, spending, 1, steps.append)
    assert sum(steps) == growth.steps()
    return points, caveats


def on(points: list[Point], axis: str, curve: str) -> dict[int, Point]:
    return {point.x: point for point in points if (point.axis, point.curve) == (axis, curve)}


def test_axes_have_all_their_places(found: tuple[list[Point], list[str]]) -> None:
    points, _ = found
    assert list(on(points, "state", growth.STATE_FIRST)) == [64, 128, 256, 512]
    assert list(on(points, "questions", growth.ONE_PASS)) == list(growth.QUESTIONS)
    for curve in (growth.STATE_FIRST, growth.SCHEMA_FIRST):
        assert list(on(points, "options", curve)) == list(growth.OPTIONS)


def test_tokens_are_the_formulas(found: tuple[list[Point], list[str]]) -> None:
    points, _ = found
    asked = on(points, "questions", growth.ONE_PASS)
    each = asked[2].tokens - asked[1].tokens
    assert asked[8].tokens == pytest.approx(asked[1].tokens + 7 * each)
    warm = {point.tokens for point in on(points, "options", growth.SCHEMA_FIRST).values()}
    assert len(warm) == 1
    cold = on(points, "options", growth.STATE_FIRST)
    assert cold[255].tokens > 10 * cold[2].tokens


def test_it_says_where_it_stops(found: tuple[list[Point], list[str]]) -> None:
    points, caveats = found
    assert "State length stops at 512 tokens: this checkpoint reads states of at most 1,000." in (
        caveats
    )
    assert list(on(points, "states", growth.SCHEMA_FIRST)) == [1]
    assert sum("stops at 1, which took" in caveat for caveat in caveats) == 2


def test_states_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "STATES", (1, 2, 5, 120))
    asking = growth._Asking(
        path_decider(), TurnJournal(tmp_path, {}), growth.SPENDING, 1, lambda _: None
    )
    points = asking.state_counts([])
    for curve in (growth.SCHEMA_FIRST, growth.STATE_FIRST):
        mine = on(points, "states", curve)
        assert list(mine) == [1, 2, 5, 120]
        times = [point.milliseconds for point in mine.values()]
        assert times == sorted(times)
    first, second, third = (mine[x].tokens for x in (1, 2, 5))
    assert third - second == pytest.approx(3 * (second - first))


def test_the_constant_is_the_geometric_mean() -> None:
    points = [Point("state", "c", x, x, 2.0 * x * f, 0, 0, 1) for x, f in ((10, 2), (100, 0.5))]
    assert growth.milliseconds_per_token(points) == pytest.approx(2.0)
