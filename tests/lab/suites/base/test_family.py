from __future__ import annotations

import pytest

from thisthat.errors import InvalidInputError
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import Asked, Difficulty, Family


def family(count: int = 3, shuffle: bool = True) -> Family[int, Difficulty]:
    return Family(
        name="digit",
        suite="test",
        kind="choice",
        option_count=count,
        held_out=False,
        draw=lambda rng, settings: rng.integer(0, settings.clauses - 1),
        solve=lambda case: case,
        render=lambda case, rng: Asked(
            f"The digit is {case}.",
            "Which?",
            tuple((str(d), None) for d in range(3)),
            {"digit": case},
            shuffle,
        ),
        target=lambda case: tuple(float(case == d) for d in range(3)),
    )


def test_shuffled_options_keep_answer_and_target() -> None:
    orders = set()
    for seed in range(200):
        item = family().generate(Rng(seed), Difficulty(), "train")
        assert item is not None
        assert item.options[item.answer][0] == str(item.facts["digit"])
        assert item.target is not None
        assert item.target[item.answer] == 1
        orders.add(item.options)
    assert len(orders) == 6


def test_ordered_options_stay() -> None:
    for seed in range(20):
        item = family(shuffle=False).generate(Rng(seed), Difficulty(), "train")
        assert item is not None
        assert [name for name, _ in item.options] == ["0", "1", "2"]


def test_wrong_option_count_raises() -> None:
    with pytest.raises(ValueError, match="3 options, not 4"):
        family(4).generate(Rng(1), Difficulty(), "train")


def test_difficulty_limits() -> None:
    with pytest.raises(InvalidInputError, match="clauses: is 0"):
        Difficulty(clauses=0)
