"""Sums against exact fractions; sets that are balanced and deterministic."""

from collections import Counter
from fractions import Fraction

import pytest

from thisthat.errors import InvalidInputError
from thisthat.items.item import render_state
from thisthat.rng import Rng
from thisthat_lab.suites.arithmetic import (
    ArithmeticSettings,
    SumSetting,
    evaluation_items,
    families,
    word_problem,
    word_problem_band,
    word_problem_check,
)
from thisthat_lab.suites.arithmetic.draws import draw_story
from thisthat_lab.suites.arithmetic.programs import Program, cost, draw_program, wrong_answers


def slow_value(program: Program) -> Fraction:
    value = Fraction(program.start)
    for operation, first, second in program.steps:
        sign = -1 if operation in ("take", "take_groups", "less_percent") else 1
        if operation in ("add", "take"):
            value += sign * first
        elif operation in ("add_groups", "take_groups"):
            for _ in range(first):
                value += sign * second
        elif operation == "times":
            value = sum([value] * first, Fraction(0))
        elif operation == "share":
            value /= first
        elif operation == "rate":
            value = value / first * second
        else:
            value += sign * value * Fraction(first, 100)
    return value


def test_programs_have_the_asked_steps_and_whole_results() -> None:
    rng = Rng("programs")
    for _ in range(10_000):
        setting = ArithmeticSettings().draw(rng)
        story = draw_story(rng, setting)
        program = story.program
        assert sum(cost(step) for step in program.steps) == setting.steps
        assert program.value == slow_value(program) >= 0


def test_wrong_answers_are_wrong_and_different() -> None:
    rng = Rng("wrong")
    for _ in range(3_000):
        program = draw_program(rng, rng.integer(1, 4), rng.choice((10, 50, 100)))
        wrong = wrong_answers(rng, program, 5)
        assert len(set(wrong)) == 5
        assert program.value not in wrong
        assert min(wrong) >= 0


def test_stories_solve_to_what_the_program_says() -> None:
    rng = Rng("stories")
    for _ in range(3_000):
        setting = ArithmeticSettings().draw(rng)
        choice = word_problem.draw(rng, setting)
        value = slow_value(choice.story.program)
        assert choice.results[word_problem.solve(choice)] == value
        assert choice.results.count(int(value)) == 1
        check = word_problem_check.draw(rng, setting)
        value = slow_value(check.story.program)
        signs = {
            "more": ">",
            "least": ">=",
            "less": "<",
            "most": "<=",
            "equal": "==",
            "other": "!=",
        }
        assert word_problem_check.solve(check) == int(
            eval(f"{value} {signs[check.relation]} {check.bound}")
        )
        band = word_problem_band.draw(rng, setting)
        if band is not None:
            value = slow_value(band.story.program)
            edges = [Fraction(-1), *map(Fraction, band.bounds), Fraction(10**9)]
            level = word_problem_band.solve(band)
            assert edges[level] <= value < edges[level + 1]


def test_evaluation_is_balanced_deterministic_and_multi_step() -> None:
    items = evaluation_items(60, seed=5)
    assert [item.fingerprint for item in items] == [
        item.fingerprint for item in evaluation_items(60, seed=5)
    ]
    by_family = {family.name: [] for family in families()}
    for item in items:
        by_family[item.family].append(item)
        assert item.source == "generated_arithmetic"
        assert item.facts["steps"] >= 2
        assert all(piece in render_state(item.state) for piece in item.facts["deciding"])
    for name, group in by_family.items():
        assert len(group) >= 45, name
        for size in {len(item.options) for item in group}:
            places = Counter(item.answer for item in group if len(item.options) == size)
            spread = max(places.values()) - min(places.get(place, 0) for place in range(size))
            assert spread <= (1 if group[0].kind == "choice" else 0), (name, places)


@pytest.mark.parametrize(
    "settings", [{"fewest_steps": 0}, {"most_steps": 7}, {"largest": 3}, {"distracted": 2.0}]
)
def test_settings_out_of_range_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(InvalidInputError):
        ArithmeticSettings(**settings)  # type: ignore[arg-type]


def test_a_sum_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="steps"):
        SumSetting(steps=9)
