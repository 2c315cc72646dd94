"""What a taught answer costs, on a small random model: lines, bar, and that a head is in force."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from tests.teach.small import write_parent
from thisthat.decide.opening import open_decider
from thisthat.rng import Rng
from thisthat_lab.bench import suite
from thisthat_lab.bench.measure import Context, Setting, run_measurement
from thisthat_lab.bench.measurements.speed import taught
from thisthat_lab.bench.systems.opening import EngineSystem
from thisthat_lab.bench.timing import contest
from thisthat_lab.bench.timing.comparison import BOOLEAN
from thisthat_lab.bench.timing.texts import state_of


def test_a_question_is_timed_with_its_head_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contest, "PAUSE", 0.0)
    parent = write_parent(tmp_path / "parent")
    with open_decider(parent, engine="onnx", threads=1) as decider:
        context = Context(Setting(quick=True, out=tmp_path / "out"), Console(file=io.StringIO()))
        context._systems[None] = EngineSystem(decider)
        _, found = run_measurement(suite.measurement("taught"), context, ["thisthat"])
        ratio, plain, moved = found.lines
        assert ratio.value is not None
        assert ratio.low is not None
        assert ratio.high is not None
        assert 0 < ratio.low <= ratio.value <= ratio.high
        assert [line.unit for line in (plain, moved)] == ["ms", "ms"]
        assert [(bar.value, bar.limit, bar.at_least) for bar in found.bars] == [
            (ratio.value, 1.03, False)
        ]
        assert set(found.series["taught"]) == {taught.WITHOUT, taught.WITH}
        assert not list((tmp_path / "out").glob("turns-*"))
        rng = Rng("heads in force")
        states = [state_of(decider, rng, taught.TOKENS) for _ in range(60)]
        other = taught.with_head(decider, taught.learned(decider, states))
        wishes = [taught._WISH in state for state in states]
        assert [other.decide(state, BOOLEAN)["refund"].best for state in states] == wishes
        assert [decider.decide(state, BOOLEAN)["refund"].best for state in states] != wishes
