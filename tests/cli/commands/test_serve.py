from pathlib import Path
from typing import Any

import pytest

from thisthat.cli import app
from thisthat.errors import InvalidInputError


def serve(*options: str) -> None:
    app(["serve", *options], standalone_mode=False)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--on", "spark"), "--on: 'spark' is not known; ray is"),
        (("--replicas", "2"), "--replicas, .*: need --on ray"),
        (("--gpus-per-replica", "1"), "need --on ray"),
        (("--on", "ray", "--log-sync"), "--log-sync: needs --decision-log"),
        (5 * ("--also-checkpoint", "worlds"), "also-checkpoint: is given 5 times; 4 at most"),
        (
            ("--loop", "registry", "--also-checkpoint", "worlds"),
            "--also-checkpoint: cannot be chosen: --loop names the champion",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(options: tuple[str, ...], fault: str) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        serve(*options)


def test_what_cannot_be_a_log_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("state,refund\n")
    with pytest.raises(InvalidInputError, match=r"log: .*labels\.csv: is no SQLite database"):
        serve("--decision-log", str(table))
    with pytest.raises(InvalidInputError, match="there is no folder"):
        serve("--decision-log", str(tmp_path / "none" / "log.sqlite"))
    assert list(tmp_path.iterdir()) == [table]


def test_replicas_are_made_of_the_same_options(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    asked: list[Any] = []
    monkeypatch.setattr("thisthat.scale.replicas.run.run_replicas", lambda *a: asked.extend(a))
    log = str(tmp_path / "log.sqlite")
    also = ("--also-checkpoint", "worlds", "--also-checkpoint", "twin=worlds")
    serve("here", "--lambda", "0.5", *also, "--on", "ray", "--replicas", "3", "--decision-log", log)
    plan, replicas, gpus, address = asked
    assert plan.settings.also_checkpoints == ("worlds", "twin=worlds")
    assert (plan.settings.checkpoint, plan.settings.lam) == ("here", 0.5)
    assert (plan.decision_log, plan.opening["engine"]) == (log, "auto")
    assert (replicas, gpus, address) == (3, 0.0, None)
