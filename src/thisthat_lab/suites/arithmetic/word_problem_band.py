"""Score: into which band does the result of a story fall?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.draws import draw_story
from thisthat_lab.suites.arithmetic.settings import SumSetting
from thisthat_lab.suites.arithmetic.stories import Story, final_question, say_result, tell
from thisthat_lab.suites.base.family import Asked, Family
from thisthat_lab.suites.records.asking import numbered_levels
from thisthat_lab.suites.records.rubric_text import draw_scale


@dataclass(frozen=True)
class Case:
    """A story and the least results of levels 1, 2, …"""

    story: Story
    bounds: tuple[int, ...]
    steps: int


def draw(rng: Rng, setting: SumSetting) -> Case | None:
    """Three to five bands; the result lies in each of them equally often."""
    story = draw_story(rng, setting)
    value = story.program.value
    levels = rng.integer(3, 5)
    target = rng.below(levels)
    width = max(2, min(value, setting.largest) // 4)
    bounds = [value - rng.integer(0, width)] if target else []
    while len(bounds) < target:
        bounds.insert(0, bounds[0] - rng.integer(2, 2 + width))
    upper = value
    for _ in range(levels - 1 - target):
        upper += rng.integer(1 if upper == value else 2, 2 + width)
        bounds.append(upper)
    return Case(story, tuple(bounds), setting.steps) if bounds[0] > 0 else None


def solve(case: Case) -> int:
    """How many of the bounds the result reaches."""
    return sum(bound <= case.story.program.value for bound in case.bounds)


def render(case: Case, rng: Rng) -> Asked:
    """The story as state; the bands in the levels or in the question."""
    text, told = tell(rng, case.story)
    said = [say_result(case.story, bound) for bound in case.bounds]
    last = [say_result(case.story, bound - 1) for bound in case.bounds]
    ranges = [rng.choice((f"below {said[0]}", f"less than {said[0]}"))]
    ranges += [f"{low} to {high}" for low, high in pairwise_ends(said, last)]
    ranges.append(rng.choice((f"{said[-1]} or more", f"at least {said[-1]}")))
    asked = final_question(rng, case.story)
    if rng.chance(0.6):
        question = f"{asked} {rng.choice(('Choose the band.', 'In which range is it?', ''))}"
        levels: tuple[str, ...] = tuple(ranges)
    else:
        levels = draw_scale(rng, len(ranges))
        named = "; ".join(f"{name} is {band}" for name, band in zip(levels, ranges, strict=True))
        question = f"{asked} Rate the answer: {named}."
    facts = {"deciding": told, "steps": case.steps}
    return Asked(text, question.strip(), numbered_levels(levels), facts)


def pairwise_ends(said: list[str], last: list[str]) -> list[tuple[str, str]]:
    """The first and the last value of every inner band."""
    return [(low, high) for (low, _), (_, high) in pairwise(zip(said, last, strict=True))]


FAMILY = Family("word_problem_band", "arithmetic", "score", None, False, draw, solve, render)
