"""Boolean: is the result of a story above, below or equal to a stated number?"""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.draws import draw_story
from thisthat_lab.suites.arithmetic.programs import wrong_answers
from thisthat_lab.suites.arithmetic.settings import SumSetting
from thisthat_lab.suites.arithmetic.stories import Story, final_question, say_result, tell
from thisthat_lab.suites.base.family import Asked, Family
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
WORDS = _TABLES.groups("words")
CLAIMS = _TABLES.words("claims")


@dataclass(frozen=True)
class Case:
    """A story, a relation and the number it is compared with."""

    story: Story
    relation: str
    bound: int
    steps: int


def compare(value: int, relation: str, bound: int) -> bool:
    """Whether the value stands in the relation to the bound."""
    return {
        "more": value > bound,
        "least": value >= bound,
        "less": value < bound,
        "most": value <= bound,
        "equal": value == bound,
        "other": value != bound,
    }[relation]


def draw(rng: Rng, setting: SumSetting) -> Case:
    """True and false equally often; bounds near the result or at the result of a mistake."""
    story = draw_story(rng, setting)
    want = rng.chance(0.5)
    while True:
        relation = rng.choice(tuple(WORDS))
        (slip,) = wrong_answers(rng, story.program, 1)
        value = story.program.value
        if relation in ("equal", "other"):
            bound = value if (relation == "equal") == want else slip
        else:
            gap = rng.integer(1, max(3, value // 3))
            bound = rng.choice((slip, value + gap, max(0, value - gap)))
        if compare(value, relation, bound) == want:
            return Case(story, relation, bound, setting.steps)


def solve(case: Case) -> int:
    """Yes when the relation holds."""
    return int(compare(case.story.program.value, case.relation, case.bound))


def render(case: Case, rng: Rng) -> Asked:
    """The story as state, the claim as question."""
    text, told = tell(rng, case.story)
    asked = final_question(rng, case.story)
    said = rng.choice(WORDS[case.relation]).format(n=say_result(case.story, case.bound))
    question = rng.choice(CLAIMS).format(asked=asked, said=said)
    return Asked(text, question, facts={"deciding": told, "steps": case.steps})


FAMILY = Family("word_problem_check", "arithmetic", "boolean", 2, False, draw, solve, render)
