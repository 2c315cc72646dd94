"""The loop at a glance: what the page and the report show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from thisthat.audit.log import DecisionLog
from thisthat.audit.store import SQLiteStore
from thisthat.loop.page import page
from thisthat.loop.registry import Registry
from thisthat.loop.summary import summary

NUMBERS = {"rows": 90, "champion": 0.7, "candidate": 0.9, "low": 0.1, "high": 0.3}
EVALUATION: dict[str, Any] = {
    "verdict": "better",
    "taught": {"decisions": 40, "replayed": 90, "since": "2026-11-01T00:00:00Z", "later": 50},
    "replay": {**NUMBERS, "difference": 0.2},
    "slice": {"country = CH": {**NUMBERS, "rows": 31, "difference": 0.2}},
}


def test_the_latest_evaluation_is_shown_with_its_slices(tmp_path: Path) -> None:
    registry = Registry(tmp_path / "registry")
    registry.register("one", "first", "a", by="ann")
    registry.register("two", "second", "b", by="ann", parent="one")
    registry.point("champion", "one", "ann", "the first")
    registry.evaluated("two", {"verdict": "cannot tell", "replay": None}, by="ann")
    log = DecisionLog(tmp_path / "log.sqlite")
    log.begin()
    log.close()
    store = SQLiteStore(tmp_path / "log.sqlite")
    assert summary(registry, store, 0.0, 1.0)["evaluations"] == []
    assert "Evaluations" not in page(summary(registry, store, 0.0, 1.0))
    registry.evaluated("two", EVALUATION, by="ann")
    found = summary(registry, store, 0.0, 1.0)
    assert [(each["version"], each["part"]) for each in found["evaluations"]] == [
        ("two", "better, on decisions that taught it (40 of 90)"),
        ("two", "slice country = CH"),
    ]
    assert json.loads(json.dumps(found))["evaluations"][1]["rows"] == 31
    assert "<h2>Evaluations</h2>" in page(found)
    assert "+0.200 [+0.100, +0.300]" in page(found)
