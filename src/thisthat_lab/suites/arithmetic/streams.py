"""Arithmetic items in bulk: an endless stream for training, a balanced set for measuring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from thisthat.items.item import Item
from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic import (
    expression,
    expression_compare,
    word_problem,
    word_problem_band,
    word_problem_check,
)
from thisthat_lab.suites.arithmetic.settings import EVALUATION, ArithmeticSettings
from thisthat_lab.suites.base.family import Family
from thisthat_lab.suites.branch.streams import balanced_items


def families() -> tuple[Family[Any, Any], ...]:
    """Every arithmetic family."""
    return (
        expression.FAMILY,
        expression_compare.FAMILY,
        word_problem.FAMILY,
        word_problem_band.FAMILY,
        word_problem_check.FAMILY,
    )


def training_items(seed: int, settings: ArithmeticSettings | None = None) -> Iterator[Item]:
    """Endless items, each family as often as the others."""
    settings = settings or ArithmeticSettings()
    rng = Rng("arithmetic training", seed)
    while True:
        for family in rng.shuffled(families()):
            item = family.generate(rng, settings.draw(rng), "train")
            if item is not None:
                yield item


def evaluation_items(
    per_family: int, seed: int = 0, settings: ArithmeticSettings = EVALUATION
) -> list[Item]:
    """At most ``per_family`` items of every family, exactly label balanced."""
    return [
        item for family in families() for item in balanced_items(family, per_family, seed, settings)
    ]
