"""What was tried on the same labels before, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from thisthat.calibrate.tries import (
    FORMAT,
    Tries,
    Try,
    read_tries,
    rows_hash,
    tries_beside,
    warning_about,
    write_tries,
)
from thisthat.items.labels import LabelledStates
from thisthat.questions import Boolean

NOW = Try("error<=0.1", 0.95, (), "mine 0.6.0", True)


def test_a_try_of_another_checkpoint_names_it_and_one_of_the_same_does_not() -> None:
    others = [replace(NOW, target="error<=0.2"), replace(NOW, checkpoint="thisthat-135m 0.6.0")]
    assert warning_about(others, NOW).startswith(
        "these labels were fitted before: error<=0.2 at 0.95; "
        "error<=0.1 at 0.95, asked of thisthat-135m 0.6.0. A target, question, wording, checkpoint"
    )
    named = "mine, 0.6.0+5e1f, 0.5, state-first, apart, average, 0123456789abcdef, None"
    told = "asked of mine 0.6.0+5e1f, λ = 0.5 (state-first, apart, average). A target"
    assert told in warning_about([replace(NOW, checkpoint=named)], NOW)


def test_every_try_adds_to_the_risk() -> None:
    others = [replace(NOW, target="error<=0.2"), replace(NOW, confidence=0.9)]
    assert "of up to 20.0%, not 5.0%" in warning_about(others, NOW)


def labelled(*right: int) -> LabelledStates:
    states = [f"state {number}" for number in range(len(right))]
    return LabelledStates({"r": Boolean("Is it?")}, states, [{"r": each} for each in right])


def test_the_same_on_other_rows_is_another_try() -> None:
    refused = replace(NOW, rows=rows_hash(labelled(0, 1)), labels=2, supported=False)
    before = Tries(frozenset(), (refused,))
    again = replace(refused, supported=True)
    assert before.others(again) == []
    assert before.having(again).tries == (again,)
    for rows in (labelled(0, 1, 1), labelled(0, 0), labelled(1, 0)):
        now = replace(again, rows=rows_hash(rows), labels=len(rows.states))
        assert before.others(now) == [refused]
        assert before.having(now).tries == (refused, now)
    assert "before: error<=0.1 at 0.95 on 2 labels, refused. " in warning_about([refused], now)


def test_the_same_in_other_words_is_another_try() -> None:
    first = replace(NOW, supported=False, schema="one wording")
    now = replace(NOW, schema="another")
    assert Tries(frozenset(), (first,)).others(now) == [first]
    assert Tries(frozenset(), (first,)).having(now).tries == (first, now)
    assert "error<=0.1 at 0.95, refused, asked in other words. A " in warning_about([first], now)
    older = replace(NOW, supported=False)
    assert Tries(frozenset(), (older,)).others(now) == []


def test_rows_in_another_order_are_other_rows() -> None:
    rows = labelled(0, 1)
    turned = LabelledStates(rows.questions, rows.states[::-1], rows.labels[::-1])
    assert rows_hash(rows) == rows_hash(labelled(0, 1)) != rows_hash(turned)


def test_tries_are_kept_and_those_of_older_files_have_no_rows(tmp_path: Path) -> None:
    path, rows = tries_beside(tmp_path / "a.jsonl"), labelled(0, 1)
    now = replace(NOW, rows=rows_hash(rows), labels=2)
    write_tries(path, read_tries(path, rows).having(now))
    assert read_tries(path, rows).tries == (now,)
    told = json.loads(path.read_text(encoding="utf-8"))
    assert told["format"] == FORMAT
    del told["tries"][0]["rows"], told["tries"][0]["labels"]
    path.write_text(json.dumps(told), encoding="utf-8")
    assert read_tries(path, rows).tries == (NOW,)
