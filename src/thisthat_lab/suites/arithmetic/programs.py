"""Sums as little programs: a start and operations, evaluated one after the other.

Whole numbers only and never below zero: a program that would leave them is not drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thisthat.rng import Rng

Step = tuple[str, int, int]
PLAIN = ("add", "take", "add_groups", "take_groups", "times", "share")


@dataclass(frozen=True)
class Program:
    """A start value and steps ``(operation, a, b)``; ``b`` is 0 where one number is enough.

    ``add a`` · ``take a`` · ``add_groups a b`` adds a times b · ``take_groups a b`` ·
    ``times a`` · ``share a`` divides · ``less_percent a`` · ``more_percent a`` ·
    ``rate a b``: what a cost, for b.
    """

    start: int
    steps: tuple[Step, ...]

    @property
    def value(self) -> int:
        """The result. Raises ValueError where a step leaves the whole numbers."""
        value = self.start
        for step in self.steps:
            value = apply(value, step)
        return value


def apply(value: int, step: Step) -> int:
    """One step; ValueError when the result is below zero or not whole."""
    operation, first, second = step
    if operation == "add":
        return value + first
    if operation == "take":
        return _whole(value - first, 1)
    if operation == "add_groups":
        return value + first * second
    if operation == "take_groups":
        return _whole(value - first * second, 1)
    if operation == "times":
        return value * first
    if operation == "share":
        return _whole(value, first)
    if operation == "less_percent":
        return _whole(value * (100 - first), 100)
    if operation == "more_percent":
        return _whole(value * (100 + first), 100)
    if operation == "rate":
        return _whole(value * second, first)
    raise ValueError(f"unknown operation {operation!r}")


def _whole(value: int, divisor: int) -> int:
    if value < 0 or value % divisor:
        raise ValueError("not a whole number of at least zero")
    return value // divisor


def cost(step: Step) -> int:
    """How many operations a reader has to do for the step."""
    return (
        2 if step[0] in ("add_groups", "take_groups", "rate", "less_percent", "more_percent") else 1
    )


def draw_program(
    rng: Rng, steps: int, largest: int, operations: Sequence[str] = PLAIN, start: int | None = None
) -> Program:
    """A program of exactly ``steps`` operations whose values stay above 0 and within reach."""
    begin = rng.integer(2, largest) if start is None else start
    value, left = begin, steps
    ceiling = max(10 * largest, 2 * begin)
    taken: list[Step] = []
    while left:
        step = _draw_step(rng, value, left, (largest, ceiling), operations)
        if step is None:
            continue
        value = apply(value, step)
        taken.append(step)
        left -= cost(step)
    return Program(begin, tuple(taken))


def _draw_step(
    rng: Rng, value: int, left: int, limits: tuple[int, int], operations: Sequence[str]
) -> Step | None:
    largest, ceiling = limits
    operation = rng.choice(operations)
    first, second = rng.integer(2, max(3, largest // 2)), 0
    if operation in ("add_groups", "take_groups"):
        first, second = rng.integer(2, 6), rng.integer(2, max(3, min(12, largest // 4)))
    elif operation == "times":
        first = rng.weighted((2, 3, 4), (5, 2, 1))
    elif operation == "share":
        first = rng.weighted((2, 3, 4, 5), (5, 2, 2, 1))
    elif operation in ("less_percent", "more_percent"):
        first = rng.choice((10, 20, 25, 50))
    step = (operation, first, second)
    if cost(step) > left:
        return None
    try:
        after = apply(value, step)
    except ValueError:
        return None
    return step if 1 <= after <= ceiling else None


def mistakes(rng: Rng, program: Program) -> list[int]:
    """Results of typical mistakes: a step left out, turned round, or done by half."""
    found: list[int] = []
    for place, (operation, first, second) in enumerate(program.steps):
        turned: dict[str, Step] = {
            "add": ("take", first, 0),
            "take": ("add", first, 0),
            "add_groups": ("add", rng.choice((first, second)), 0),
            "take_groups": ("take", rng.choice((first, second)), 0),
            "times": ("add", first, 0),
            "share": ("take", first, 0),
            "less_percent": ("take", first, 0),
            "more_percent": ("add", first, 0),
            "rate": ("times", max(1, second), 0),
        }
        before, after = program.steps[:place], program.steps[place + 1 :]
        for steps in ((*before, *after), (*before, turned[operation], *after)):
            try:
                found.append(Program(program.start, steps).value)
            except ValueError:
                continue
    return found


def wrong_answers(rng: Rng, program: Program, count: int) -> tuple[int, ...]:
    """``count`` different wrong results: typical mistakes first, then slips of a few or of ten."""
    right = program.value
    pool = list(dict.fromkeys(value for value in mistakes(rng, program) if value != right))
    picked = rng.shuffled(pool)[: max(1, count - 1)]
    slips = [right + shift for shift in (-10, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 10, 20)]
    for value in rng.shuffled(slips):
        if len(picked) == count:
            break
        if value >= 0 and value not in picked:
            picked.append(value)
    reach = right
    while len(picked) < count:
        reach += 7
        if reach not in picked:
            picked.append(reach)
    return tuple(picked[:count])
