from collections import Counter
from functools import cache
from itertools import islice

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat_lab.suites.base.settings import BranchSettings
from thisthat_lab.suites.branch.streams import training_items


@cache
def drawn() -> list[Item]:
    return list(islice(training_items(3, BranchSettings(drills=4)), 2000))


def test_drills_follow_the_item_whose_state_they_are_about() -> None:
    last = drawn()[0]
    for item in drawn()[1:]:
        if item.source == "generated_drills":
            assert item.state == last.state
        else:
            last = item
    families = Counter(item.family for item in drawn())
    assert families["drill_clause"] > families["drill_fact"] > 0


def test_clauses_are_true_as_often_as_not_to_within_reason() -> None:
    answers = Counter(item.answer for item in drawn() if item.family == "drill_clause")
    assert 0.35 < answers[1] / sum(answers.values()) < 0.65


def test_no_drill_asks_about_a_fact_that_is_not_known() -> None:
    for item in drawn():
        if item.source == "generated_drills":
            assert None not in item.facts["record"].values()


def test_without_drills_nothing_is_added() -> None:
    plain = islice(training_items(3, BranchSettings()), 500)
    assert all(item.source == "generated_branch" for item in plain)
    with pytest.raises(InvalidInputError, match="drills: is -1"):
        BranchSettings(drills=-1)
