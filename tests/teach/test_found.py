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
    labels, now, before = np.ones(8, int), np.zeros(8, int), np.array([1] * 4 + [0] * 4)
    apart = found_by_option(["no", "yes"], labels, now, before)
    assert apart[0].less
    together = found_by_option(["no", "yes"], labels, now, before, ["same"] * 4 + list("abcd"))
    assert not together[0].less
