"""Every family's answers against a second, slow way to them that starts from the rendered item.

``make test`` draws a few hundred items of every family, ``make oracle`` ten thousand. Items come
with the usual mix of difficulty, abstain options and twins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from tests.suites.oracle.answers import ANSWERS
from thisthat.random import Rng
from thisthat.suites import arithmetic, branch
from thisthat.suites.family import Family
from thisthat.suites.item import Item

ITEMS = int(os.environ.get("THISTHAT_ORACLE_ITEMS", "200"))
FAMILIES: dict[str, Family[Any, Any]] = {
    **branch.families(),
    **{family.name: family for family in arithmetic.families()},
}


def drawn(family: Family[Any, Any]) -> Iterator[Item]:
    """Endless items of one family; about a third are followed by their twin."""
    rng = Rng("oracle", family.name)
    settings: Any = branch.BranchSettings()
    if family.suite == "arithmetic":
        settings = arithmetic.ArithmeticSettings()
    twin = getattr(family, "twin", None)
    while True:
        case = family.draw(rng, settings.draw(rng))
        if case is None:
            continue
        yield family.item_for(case, rng, "test")
        other = twin(case, rng) if twin is not None and rng.chance(settings.twins) else None
        if other is not None:
            yield family.item_for(other, rng, "test")


def test_every_family_has_an_oracle() -> None:
    assert set(ANSWERS) == set(FAMILIES)


@pytest.mark.parametrize("name", tuple(FAMILIES))
def test_answers_follow_from_what_is_shown(name: str) -> None:
    answer = ANSWERS[name]
    wrong = [item for item in islice(drawn(FAMILIES[name]), ITEMS) if answer(item) != item.answer]
    assert not wrong, f"{len(wrong)} of {ITEMS} disagree, the first is {wrong[0]}"
