from __future__ import annotations

import pytest

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.verify import as_verification

ITEM = Item("user", "route", "choice", "s", "Which?", (("a", None), ("b", None), ("c", None)), 1)


def test_yes_means_that_the_right_option_was_proposed() -> None:
    answers = 0
    for seed in range(400):
        item = as_verification(ITEM, Rng(seed))
        assert item.kind == "boolean"
        assert item.family == "route_verified"
        proposed = [n for n in "abc" if any(f"{q}{n}{q}" in item.question for q in "'\"")] or [
            n for n in "abc" if f" {n}." in item.question or f" {n}?" in item.question
        ]
        assert len(proposed) == 1
        assert item.answer == (proposed[0] == "b")
        answers += item.answer
    assert 150 < answers < 250


def test_only_choices() -> None:
    boolean = Item("user", "x", "boolean", "s", "q", (("no", None), ("yes", None)), 0)
    with pytest.raises(ValueError, match="boolean with 2 options"):
        as_verification(boolean, Rng())
