"""Cutting a sequence into groups under a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def within_budget(
    items: Iterable[T], cost: Callable[[T], int], most: float, most_items: float = math.inf
) -> Iterator[list[T]]:
    """Group neighbours under a cost of ``most``; a more expensive one is a group by itself."""
    group: list[T] = []
    spent = 0
    for item in items:
        own = cost(item)
        if group and (spent + own > most or len(group) == most_items):
            yield group
            group, spent = [], 0
        group.append(item)
        spent += own
    if group:
        yield group
