from __future__ import annotations

from dataclasses import replace

import pytest

from thisthat.items.item import Item
from thisthat_lab.suites.contamination import ContaminationError, check_contamination

ITEM = Item("user", "refund", "boolean", {"order": 1}, "Refund?", (("no", None), ("yes", None)), 1)
OTHER = replace(ITEM, state="Order 2")


def test_clean() -> None:
    report = check_contamination([OTHER], [ITEM])
    assert (report.training_items, report.evaluation_items, report.same_state) == (1, 1, 0)


def test_same_question_and_same_state_are_told_apart() -> None:
    turned = replace(ITEM, options=ITEM.options[::-1], answer=0)
    reworded = replace(ITEM, question="Should it be refunded?", state='{"order": 1}')
    with pytest.raises(ContaminationError) as caught:
        check_contamination([OTHER, ITEM, turned, reworded], [ITEM])
    report = caught.value.report
    assert (report.same_question, report.same_state) == (2, 3)
    assert "training item 2 (user, refund): same question" in str(caught.value)
    assert "training item 4 (user, refund): same state" in str(caught.value)


def test_nothing_to_compare_with_is_an_error() -> None:
    with pytest.raises(ValueError, match="no evaluation items"):
        check_contamination([ITEM], [])
