"""An evaluation knows how many of its decisions taught the candidate, and when they end."""

from __future__ import annotations

from pathlib import Path

from tests.teach.test_known import labels, taught
from thisthat.loop.registry import verdict_told
from thisthat.loop.taught_on import TaughtOn, taught_on


def test_decisions_that_taught_are_counted_and_end_at_a_second(tmp_path: Path) -> None:
    ref = taught(tmp_path / "mine", labels(0, 40))
    found = taught_on(
        [(number + 0.5, label) for number, label in enumerate(labels(0, 60))], ref, None
    )
    assert found == TaughtOn(40, 60, "1970-01-01T00:00:40Z", 20)
    assert found.told("mine").startswith("40 of these 60 decisions taught mine, ")
    assert found.told("mine").endswith("--since 1970-01-01T00:00:40Z leaves them out and keeps 20")
    assert taught_on([(1.0, label) for label in labels(40, 60)], ref, None) is None
    assert taught_on([], ref, None) is None


def test_a_verdict_is_marked_where_it_rests_on_them() -> None:
    mark = {"decisions": 40, "replayed": 60}
    assert verdict_told({"verdict": "better"}) == "better"
    assert verdict_told({"verdict": "better", "taught": None}) == "better"
    told = verdict_told({"verdict": "better", "taught": mark, "acting": None})
    assert told == "better, on decisions that taught it (40 of 60)"
    assert verdict_told({"verdict": "better", "taught": mark, "acting": {"rows": 9}}) == "better"
