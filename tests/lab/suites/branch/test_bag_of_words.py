"""No family can be answered from its words alone."""

from __future__ import annotations

import math

import pytest

from tests.lab.suites.branch.bag_of_words import chance, held_accuracy
from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.base.settings import Setting
from thisthat_lab.suites.branch.registry import families

TRAIN, TEST = 200, 150


def fresh(name: str, stream: str, count: int) -> list[Item]:
    family = families()[name]
    rng = Rng(stream, name)
    items: list[Item] = []
    while len(items) < count:
        item = family.generate(rng, Setting(rng.integer(1, 4), 2, 0), "test")
        if item is not None:
            items.append(item)
    return items


@pytest.mark.parametrize("name", tuple(families()))
def test_words_alone_stay_near_chance(name: str) -> None:
    test = fresh(name, "test", TEST)
    accuracy = held_accuracy(fresh(name, "train", TRAIN), test)
    base = chance(test)
    noise = 2 * math.sqrt(base * (1 - base) / len(test))
    assert accuracy <= base + 0.10 + noise
