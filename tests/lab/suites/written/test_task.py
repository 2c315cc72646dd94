"""Reading written tasks: what is read, and what every fault is called."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.lab.suites.written.samples import how_late, late
from thisthat.errors import InvalidInputError
from thisthat_lab.suites.written.task import read_task, read_tasks

ROOT = Path(__file__).parents[4]


def test_a_task_is_read_with_its_rule_in_every_state() -> None:
    task = read_task(how_late(), "here")
    assert task.full_name == "rules.how_late"
    assert task.states[0].text == {"rule": task.context, "case": {"hours": 0}}
    assert str(task.states[-1].text).startswith("One hour is some delay, one day is much.\n\n")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"kind": "rank"}, "kind is 'rank'"),
        ({"split": "test"}, "split is 'test'"),
        ({"questions": ["Late?"]}, "fewer than 4 wordings"),
        ({"options": [["yes", None], ["no", None]]}, "no and yes"),
        ({"states": late()["states"][:5]}, "has 5 states"),
        ({"states": [*late()["states"], ["new", 2]]}, "answer is 2"),
        ({"states": [*late()["states"], late()["states"][0]]}, "one state twice"),
        ({"states": [[f"s{n}", int(n < 2)] for n in range(20)]}, "uneven"),
        ({"extra": 1}, "'extra' is not known"),
    ],
)
def test_faults_name_the_place(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^here") as caught:
        read_task(late(**changes), "here")
    assert problem in str(caught.value)


def test_a_folder_is_read_in_order_and_names_are_used_once(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(json.dumps(late()) + "\n")
    (tmp_path / "a.jsonl").write_text(json.dumps(how_late()) + "\n\n")
    assert [task.name for task in read_tasks(tmp_path)] == ["how_late", "parcel_late"]
    (tmp_path / "c.jsonl").write_text(json.dumps(late()) + "\n")
    with pytest.raises(InvalidInputError, match="parcel_late is also in"):
        read_tasks(tmp_path)


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="holds no"):
        read_tasks(tmp_path)


def test_the_repository_holds_a_thousand_tasks() -> None:
    tasks = read_tasks(ROOT / "data" / "branches")
    assert len(tasks) >= 1000
    assert sum(len(task.states) for task in tasks) >= 25_000
    assert len({task.domain for task in tasks}) >= 90
    kinds = Counter(task.kind for task in tasks)
    assert 0.4 < kinds["boolean"] / len(tasks) < 0.5
    assert 0.15 < kinds["score"] / len(tasks) < 0.25


def test_eight_whole_domains_and_a_tenth_of_the_other_tasks_are_held_out() -> None:
    tasks = read_tasks(ROOT / "data" / "branches")
    trained = {task.domain for task in tasks if task.split == "train"}
    held_out = [task for task in tasks if task.split == "heldout"]
    assert len({task.domain for task in held_out} - trained) == 8
    elsewhere = [task for task in held_out if task.domain in trained]
    share = len(elsewhere) / len([task for task in tasks if task.domain in trained])
    assert share == pytest.approx(0.1, abs=0.005)
    assert {task.kind for task in elsewhere} == {"boolean", "choice", "score"}
