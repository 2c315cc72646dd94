"""Programs told as stories: shops, stores, buses, purses, kitchens, clocks.

A theme has a sentence for the start and several for every operation. Nothing here computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.programs import Program
from thisthat_lab.suites.base.wording import FIRST_NAMES
from thisthat_lab.tables import Tables


@dataclass(frozen=True)
class Theme:
    """How a program is told: things counted, the start, the operations, the final question.

    Texts use ``{a}``, ``{b}`` for numbers, ``{x}`` for the things and ``{who}`` for a person.
    ``money`` writes amounts with a dollar sign.
    """

    things: tuple[str, ...]
    start: tuple[str, ...]
    steps: dict[str, tuple[str, ...]]
    ask: tuple[str, ...]
    money: bool = False

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations the theme can tell."""
        return tuple(self.steps)


_TABLES = Tables(__file__)
THEMES = _TABLES.read("themes", tuple[Theme, ...])
IDLE = _TABLES.words("idle")


@dataclass(frozen=True)
class Story:
    """A program with the theme and the person it is told with; ``idle`` numbers decide nothing."""

    theme: int
    thing: str
    who: str
    program: Program
    idle: tuple[int, ...]


def tell(rng: Rng, story: Story) -> tuple[str, list[str]]:
    """The story as text, and its sentences that carry numbers of the program."""
    theme = THEMES[story.theme]
    told = [rng.choice(theme.start).format(a=story.program.start, x=story.thing, who=story.who)]
    for operation, first, second in story.program.steps:
        form = rng.choice(theme.steps[operation])
        told.append(form.format(a=first, b=second, x=story.thing, who=story.who))
    told = [text[:1].upper() + text[1:] for text in told]
    sentences = list(told)
    for number in story.idle:
        text = rng.choice(IDLE).format(n=number, who=rng.choice(FIRST_NAMES))
        sentences.insert(rng.below(len(sentences) + 1), text)
    return " ".join(sentences), told


def final_question(rng: Rng, story: Story) -> str:
    """What is asked at the end."""
    theme = THEMES[story.theme]
    return rng.choice(theme.ask).format(x=story.thing, who=story.who)


def say_result(story: Story, value: int) -> str:
    """A result the way the theme writes it."""
    return f"${value}" if THEMES[story.theme].money else str(value)
