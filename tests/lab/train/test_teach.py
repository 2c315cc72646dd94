from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.lab.train import tiny
from thisthat.checkpoint import open_checkpoint
from thisthat.errors import InvalidInputError
from thisthat.items.files import write_items
from thisthat.items.item import Item
from thisthat_lab.train import teach as module
from thisthat_lab.train.config import Run, Schedule
from thisthat_lab.train.teach import split_rows, teach, usable_rows


def quietly(_: str) -> None:
    pass


def reds(count: int) -> list[Item]:
    return [item for item in tiny.colour_items(3 * count) if item.kind == "boolean"]


def test_teaching_says_what_it_gained_and_writes_a_checkpoint(
    workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_items(workplace / "rows.jsonl", reds(500))
    real = module._run

    def in_steps(*arguments: Any) -> Run:
        run = real(*arguments)
        data = run.data.model_copy(update={"longest": 160})
        schedule = Schedule(steps=25, warm_up_steps=5)
        return run.model_copy(update={"schedule": schedule, "data": data})

    monkeypatch.setattr(module, "_run", in_steps)
    monkeypatch.setattr(module, "_last_layers", lambda _: 2)
    taught = teach(
        workplace / "rows.jsonl",
        workplace / "taught",
        quietly,
        initial=str(workplace / "model"),
    )
    assert (taught.trained_rows, taught.held_out_rows) == (300, 200)
    assert taught.nll_after < taught.nll_before
    assert taught.temperatures is not None
    assert taught.supported == (taught.gain.low > 0)
    plain = "do not show an improvement" in "\n".join(taught.lines())
    assert plain != taught.supported
    checkpoint = open_checkpoint(workplace / "taught")
    assert checkpoint.lam == 1.0
    assert checkpoint.card.provenance["taught"]["held_out_rows"] == 200
    assert checkpoint.card.temperatures.by_kind["boolean"] > 0
    assert open_checkpoint(workplace / "taught", 0.0).weights().keys()
    assert taught.delta_error < 0.05
    assert not (workplace / "taught" / "training").exists()


def test_rows_about_one_state_stay_on_one_side() -> None:
    items = [replace(item, state=f"s{i // 4}") for i, item in enumerate(tiny.colour_items(400))]
    taught, held_out = split_rows(items)
    assert not {item.state for item in taught} & {item.state for item in held_out}
    assert 120 <= len(held_out) <= 164
    assert len(taught) + len(held_out) == 400


def test_bad_rows_are_refused(tmp_path: Path) -> None:
    good = reds(100)
    cases: list[tuple[list[Item], str]] = [
        (good[:20], "has 20 different rows; at least 60"),
        ([replace(item, answer=0) for item in good], "every row of the question 'Red\\?' has"),
        (
            [*good, replace(good[3], answer=1 - good[3].answer)],
            r"row 101: answers '(no|yes)' where the same row 4 says",
        ),
        (
            [*good, replace(good[0], kind="choice"), *_other_options(good[0])],
            r"row 102: has other options than row 101 for the same question \(maybe\)",
        ),
    ]
    for number, (items, message) in enumerate(cases):
        path = tmp_path / f"{number}.jsonl"
        write_items(path, items)
        with pytest.raises(InvalidInputError, match=message):
            usable_rows(path, quietly)


def _other_options(item: Item) -> list[Item]:
    return [replace(item, kind="choice", state="new", options=(*item.options, ("maybe", None)))]


def test_repeated_rows_count_once(tmp_path: Path) -> None:
    lines: list[str] = []
    write_items(tmp_path / "rows.jsonl", [*reds(100), *reds(10)])
    assert len(usable_rows(tmp_path / "rows.jsonl", lines.append)) == 100
    assert lines == ["10 rows repeat others and are left out"]


def test_a_folder_that_holds_something_is_not_overwritten(workplace: Path) -> None:
    with pytest.raises(InvalidInputError, match="is not empty"):
        teach(workplace / "colours.jsonl", workplace, quietly)
