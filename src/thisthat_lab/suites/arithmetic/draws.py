"""Drawing a story: a theme, a program the theme can tell, and idle numbers."""

from __future__ import annotations

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.programs import Program, Step, draw_program
from thisthat_lab.suites.arithmetic.settings import SumSetting
from thisthat_lab.suites.arithmetic.stories import THEMES, Story
from thisthat_lab.suites.base.wording import FIRST_NAMES


def draw_story(rng: Rng, setting: SumSetting) -> Story:
    """A story with as many steps as the setting asks for."""
    place = rng.below(len(THEMES))
    theme = THEMES[place]
    program = None
    if "rate" in theme.operations:
        if setting.steps < 2:
            place = rng.below(3)
            theme = THEMES[place]
        else:
            program = _draw_rate(rng, setting)
    if program is None:
        start = None
        if "less_percent" in theme.operations and setting.steps > 1:
            start = rng.choice((20, 40, 60, 80, 100, 120, 200))
        program = draw_program(rng, setting.steps, setting.largest, theme.operations, start)
    return Story(
        place,
        rng.choice(theme.things),
        rng.choice(FIRST_NAMES),
        program,
        tuple(rng.integer(2, setting.largest) for _ in range(setting.distractors)),
    )


def _draw_rate(rng: Rng, setting: SumSetting) -> Program:
    count, price = rng.integer(2, 6), rng.integer(1, max(3, setting.largest // 5))
    bought = rng.choice([number for number in range(1, 10) if number != count])
    first: Step = ("rate", count, bought)
    if setting.steps == 2:
        return Program(count * price, (first,))
    rest = draw_program(
        rng, setting.steps - 2, setting.largest, ("add", "take", "times"), price * bought
    )
    return Program(count * price, (first, *rest.steps))
