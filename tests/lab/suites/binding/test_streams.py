"""Binding items: the right option is the thing the state names."""

from __future__ import annotations

from itertools import islice

from thisthat.items.item import render_state
from thisthat_lab.suites.binding import training_items
from thisthat_lab.suites.binding.words import LEVELS, THINGS


def test_the_right_option_stands_in_the_state_and_no_other_of_its_kind() -> None:
    items = list(islice(training_items(1), 2000))
    assert {item.kind for item in items} == {"boolean", "choice", "score"}
    for item in items:
        text = render_state(item.state)
        if item.kind == "boolean":
            continue
        right = item.options[item.answer][0]
        assert right in text
    yes = [item.answer for item in items if item.kind == "boolean"]
    assert 0.4 < sum(yes) / len(yes) < 0.6


def test_the_same_seed_gives_the_same_items() -> None:
    assert list(islice(training_items(7), 50)) == list(islice(training_items(7), 50))


def test_things_have_different_names_within_a_kind() -> None:
    for names in (*THINGS.values(), *LEVELS.values()):
        assert len(set(names)) == len(names)
