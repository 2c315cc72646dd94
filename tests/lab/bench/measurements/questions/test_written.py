"""The held-out written tasks as a measurement: lines by kind, and pairs that are whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.suites.written.samples import how_late, late, number
from thisthat.errors import InvalidInputError
from thisthat_lab.bench.measure import Context, Setting
from thisthat_lab.bench.measurements.questions import written


def folder(tmp_path: Path) -> Path:
    (tmp_path / "branches").mkdir()
    tasks = [late(split="heldout"), number(), how_late(split="heldout")]
    lines = "".join(json.dumps(task) + "\n" for task in tasks)
    (tmp_path / "branches" / "all.jsonl").write_text(lines)
    return tmp_path


def test_held_out_tasks_are_scored_by_kind_and_by_pair(tmp_path: Path) -> None:
    setting = Setting(system="majority", out=tmp_path / "out", data=folder(tmp_path))
    findings = written.run(Context(setting))
    lines = {line.label: line.value for line in findings.lines}
    assert {item.family for item in findings.items} == {"logistics.parcel_late", "rules.how_late"}
    assert "accuracy, boolean" in lines
    assert "accuracy, choice" not in lines
    assert lines["pairs right, of 1"] in (0.0, 1.0)
    assert {group.by for group in findings.groups} == {"kind", "domain", "task"}


def test_a_folder_without_tasks_is_named(tmp_path: Path) -> None:
    setting = Setting(system="majority", out=tmp_path / "out", data=tmp_path)
    with pytest.raises(InvalidInputError, match="holds branches/"):
        written.run(Context(setting))
