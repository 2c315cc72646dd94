"""Score: is the first of two expressions smaller than, equal to or larger than the second?"""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.expression import write
from thisthat_lab.suites.arithmetic.programs import PLAIN, Program, draw_program
from thisthat_lab.suites.arithmetic.settings import SumSetting
from thisthat_lab.suites.base.family import Asked, Family
from thisthat_lab.suites.records.asking import numbered_levels

LEVELS = (
    ("A is smaller", "A and B are equal", "A is larger"),
    ("less", "the same", "more"),
    ("A < B", "A = B", "A > B"),
    ("B wins", "a tie", "A wins"),
)


@dataclass(frozen=True)
class Case:
    """Two programs."""

    left: Program
    right: Program
    steps: int


def draw(rng: Rng, setting: SumSetting) -> Case:
    """Each of the three outcomes equally often; differences are small."""
    left = draw_program(rng, setting.steps, setting.largest, PLAIN)
    outcome = rng.below(3) - 1
    while True:
        right = draw_program(rng, max(1, setting.steps - 1), setting.largest, PLAIN)
        gap = right.value + outcome * rng.integer(1, max(2, left.value // 2)) - left.value
        # A last step brings the second expression to where it should be.
        step = ("take", gap, 0) if gap > 0 else ("add", -gap, 0)
        if gap and right.value - gap >= 0:
            return Case(left, Program(right.start, (*right.steps, step)), setting.steps)


def solve(case: Case) -> int:
    """0 for smaller, 1 for equal, 2 for larger."""
    left, right = case.left.value, case.right.value
    return (left > right) - (left < right) + 1


def render(case: Case, rng: Rng) -> Asked:
    """Both expressions as lines of text or as JSON."""
    left, right = write(rng, case.left), write(rng, case.right)
    state = {"A": left, "B": right} if rng.chance(0.3) else f"A: {left}\nB: {right}"
    question = rng.choice(
        ("How does A compare with B?", "Compare A with B.", "Where does A stand beside B?")
    )
    facts = {"deciding": [left, right], "steps": case.steps}
    return Asked(state, question, numbered_levels(rng.choice(LEVELS)), facts)


FAMILY = Family("expression_compare", "arithmetic", "score", 3, False, draw, solve, render)
