"""Choice: the value of a written expression, among typical mistakes."""

from __future__ import annotations

from dataclasses import dataclass

from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic.programs import PLAIN, Program, draw_program, wrong_answers
from thisthat_lab.suites.arithmetic.settings import SumSetting
from thisthat_lab.suites.base.family import Asked, Family
from thisthat_lab.tables import Tables

_TABLES = Tables(__file__)
_STEPS = _TABLES.groups("steps")
_QUESTIONS = _TABLES.words("questions")


@dataclass(frozen=True)
class Case:
    """A program and the results on offer."""

    program: Program
    results: tuple[int, ...]
    steps: int


def draw(rng: Rng, setting: SumSetting) -> Case:
    """Four to six results, one of them right."""
    program = draw_program(rng, setting.steps, setting.largest, PLAIN)
    wrong = wrong_answers(rng, program, rng.integer(3, 5))
    return Case(program, tuple(rng.shuffled([program.value, *wrong])), setting.steps)


def solve(case: Case) -> int:
    """The place of the right result."""
    return case.results.index(case.program.value)


def write(rng: Rng, program: Program) -> str:
    """The program as one expression with brackets, or as steps in words."""
    if rng.chance(0.3):
        words = [f"Start with {program.start}."]
        words += [_in_words(rng, *step) for step in program.steps]
        return " ".join(words)
    times, over = rng.choice((("*", "/"), ("×", "÷")))
    text = str(program.start)
    simple = True
    for operation, first, second in program.steps:
        if operation in ("add", "take"):
            text = f"{text} {'+' if operation == 'add' else '-'} {first}"
            simple = False
        elif operation in ("add_groups", "take_groups"):
            sign = "+" if operation == "add_groups" else "-"
            text = f"{text} {sign} {first} {times} {second}"
            simple = False
        else:
            sign = times if operation == "times" else over
            text = f"{text if simple else f'({text})'} {sign} {first}"
            simple = True
    return text


def _in_words(rng: Rng, operation: str, first: int, second: int) -> str:
    return rng.choice(_STEPS[operation]).format(a=first, b=second)


def render(case: Case, rng: Rng) -> Asked:
    """The expression as state."""
    text = write(rng, case.program)
    question = rng.choice(_QUESTIONS)
    options = tuple((str(value), None) for value in case.results)
    return Asked(text, question, options, {"deciding": [text], "steps": case.steps})


FAMILY = Family("expression", "arithmetic", "choice", None, False, draw, solve, render)
