"""Choice: the result of a story told in one to four steps, among typical mistakes."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.draws import draw_story
from thisthat_lab.suites.arithmetic.programs import wrong_answers
from thisthat_lab.suites.arithmetic.settings import SumSetting
from thisthat_lab.suites.arithmetic.stories import Story, final_question, say_result, tell
from thisthat_lab.suites.base.family import Asked, Family


@dataclass(frozen=True)
class Case:
    """A story and the results on offer."""

    story: Story
    results: tuple[int, ...]
    steps: int


def draw(rng: Rng, setting: SumSetting) -> Case:
    """Four to six results, one of them right."""
    story = draw_story(rng, setting)
    wrong = wrong_answers(rng, story.program, rng.integer(3, 5))
    results = rng.shuffled([story.program.value, *wrong])
    return Case(story, tuple(results), setting.steps)


def solve(case: Case) -> int:
    """The place of the right result."""
    return case.results.index(case.story.program.value)


def render(case: Case, rng: Rng) -> Asked:
    """The story as state, the question after it."""
    text, told = tell(rng, case.story)
    options = tuple((say_result(case.story, value), None) for value in case.results)
    facts = {"deciding": told, "steps": case.steps}
    return Asked(text, final_question(rng, case.story), options, facts)


FAMILY = Family("word_problem", "arithmetic", "choice", None, False, draw, solve, render)
