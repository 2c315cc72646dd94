"""Every family's answers against a second, slow way to them that starts from the rendered item.

``make test`` draws a few hundred items of every family, ``make oracle`` ten thousand. Items come
with the usual mix of difficulty, abstain options and twins.
"""

from __future__ import annotations

import os
from itertools import islice

import pytest

from tests.lab.suites.drawing import FAMILIES, drawn
from tests.lab.suites.oracle.answers import ANSWERS

ITEMS = int(os.environ.get("THISTHAT_ORACLE_ITEMS", "200"))


def test_every_family_has_an_oracle() -> None:
    assert set(ANSWERS) == set(FAMILIES)


@pytest.mark.parametrize("name", tuple(FAMILIES))
def test_answers_follow_from_what_is_shown(name: str) -> None:
    answer = ANSWERS[name]
    wrong = [item for item in islice(drawn("oracle", name), ITEMS) if answer(item) != item.answer]
    assert not wrong, f"{len(wrong)} of {ITEMS} disagree, the first is {wrong[0]}"
