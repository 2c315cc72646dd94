"""How hard a sum is: how many steps, how large the numbers, how much else is said."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.errors import InvalidInputError
from thisthat.rng import Rng
from thisthat_lab.suites.base.family import check_ranges


@dataclass(frozen=True)
class SumSetting:
    """One sum: ``steps`` operations on numbers of about ``largest``, ``distractors`` idle facts."""

    steps: int = 2
    largest: int = 20
    distractors: int = 0

    def __post_init__(self) -> None:
        check_ranges(self, steps=(1, 6), largest=(5, 10_000), distractors=(0, 20))


@dataclass(frozen=True)
class ArithmeticSettings:
    """A stream of sums: the range of steps, the largest number, the share with idle facts."""

    fewest_steps: int = 1
    most_steps: int = 4
    largest: int = 100
    distracted: float = 0.4

    def __post_init__(self) -> None:
        if not 1 <= self.fewest_steps <= self.most_steps <= 6:
            raise InvalidInputError(
                "most_steps",
                f"is {self.most_steps}, fewest_steps is {self.fewest_steps}; they must keep "
                "1 <= fewest_steps <= most_steps <= 6",
            )
        check_ranges(self, largest=(10, 10_000), distracted=(0, 1))

    def draw(self, rng: Rng) -> SumSetting:
        """The setting of the next sum; small numbers are more frequent than large ones."""
        scale = rng.choice((10, 20, 20, 50, self.largest))
        return SumSetting(
            rng.integer(self.fewest_steps, self.most_steps),
            min(scale, self.largest),
            rng.integer(1, 3) if rng.chance(self.distracted) else 0,
        )


EVALUATION = ArithmeticSettings(fewest_steps=2)
