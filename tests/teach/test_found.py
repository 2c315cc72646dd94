"""Options that are found, and those that are lost."""

from __future__ import annotations

import numpy as np

from thisthat.teach.found import MOST_TOLD, found_by_option, found_words, lost_words

TEAMS = [f"team {number}" for number in range(MOST_TOLD + 1)]


def test_many_options_are_not_listed_but_one_that_is_lost_is_named() -> None:
    right = np.arange(90) % 9
    found = found_by_option(TEAMS, right, np.where(right == 4, 5, right), right)
    assert found_words(found) is None
    assert lost_words(found) == "'team 4' is found less often: 0 of 10, before 10 of 10"


def test_options_without_a_label_are_left_out() -> None:
    found = found_by_option(TEAMS, np.array([1, 1, 3]), np.array([1, 0, 0]))
    assert found_words(found) == "team 1 1 of 2; team 3 0 of 1"
    assert lost_words(found) is None


def test_rows_of_one_state_count_once() -> None:
    labels, now, before = np.ones(10, int), np.zeros(10, int), np.array([1] * 5 + [0] * 5)
    apart = found_by_option(["no", "yes"], labels, now, before)
    assert apart[0].less
    together = found_by_option(["no", "yes"], labels, now, before, ["same"] * 5 + list("abcde"))
    assert not together[0].less


def test_chance_seldom_calls_one_of_many_options_lost() -> None:
    generator, names = np.random.default_rng(0), [str(number) for number in range(20)]
    alarms = 0
    for _ in range(200):
        labels = np.repeat(np.arange(20), 20)
        now, before = np.where(generator.random((2, 400)) < 0.6, labels, (labels + 1) % 20)
        alarms += lost_words(found_by_option(names, labels, now, before)) is not None
    assert alarms <= 10


def test_options_that_hardly_change_do_not_hide_one_that_is_lost() -> None:
    labels = np.repeat(np.arange(20), 20)
    now = np.where((labels == 7) & (np.arange(400) % 20 < 5), 8, labels)
    found = found_by_option([str(number) for number in range(20)], labels, now, labels)
    assert lost_words(found) == "'7' is found less often: 15 of 20, before 20 of 20"
