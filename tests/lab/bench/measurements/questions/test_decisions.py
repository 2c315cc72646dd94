"""Booleans of a file are ranked source by source."""

from __future__ import annotations

import pytest

from thisthat.items.item import Item
from thisthat_lab.bench.measurements.questions.decisions import ranking_lines
from thisthat_lab.bench.systems.replies import Reply

OPTIONS = (("no", None), ("yes", None))


def asked(source: str, answer: int, probability: float, split: str = "seen") -> tuple[Item, Reply]:
    item = Item(source, "f", "boolean", "s", "q?", OPTIONS, answer, split=split)
    return item, Reply(int(probability > 0.5), (1 - probability, probability))


def test_the_area_is_the_mean_of_sources_that_have_both_answers() -> None:
    pairs = [
        *(asked("ranked", answer, p) for answer, p in [(0, 0.6), (0, 0.7), (1, 0.8), (1, 0.9)]),
        *(asked("half", answer, p) for answer, p in [(0, 0.1), (1, 0.2), (0, 0.3)]),
        asked("one answer only", 1, 0.1),
        asked("ranked", 1, 0.2, split="unseen"),
        asked("ranked", 0, 0.4, split="unseen"),
    ]
    lines = ranking_lines([item for item, _ in pairs], [reply for _, reply in pairs])
    found = {line.label: line.value for line in lines}
    assert found == {
        "area under the curve, booleans: seen (mean of 2 sources)": pytest.approx(0.75),
        "area under the curve, booleans: unseen (mean of 1 sources)": 0.0,
    }


def test_choices_and_unanswered_booleans_are_left_out() -> None:
    choice = Item("s", "f", "choice", "s", "q?", (("a", None), ("b", None)), 0, split="seen")
    boolean, _ = asked("s", 0, 0.3)
    silent = Reply(None, problem="timeout")
    assert ranking_lines([choice, boolean], [Reply(0, (0.9, 0.1)), silent]) == []
