"""What is read of states to learn from, and in which layout."""

from pathlib import Path

import numpy as np

from tests.teach.small import RED, STATES
from thisthat.decide.opening import open_decider
from thisthat.prompt_format import Layout
from thisthat.teach.collect import collect, lesson_layouts

BOTH: tuple[Layout, ...] = ("state-first", "schema-first")


def test_a_state_is_learned_in_a_layout_drawn_by_its_text_alone() -> None:
    drawn = lesson_layouts(BOTH, STATES)
    assert 15 < drawn.count("schema-first") < 45
    assert lesson_layouts(BOTH, STATES[::-1]) == drawn[::-1]
    assert set(lesson_layouts(BOTH, [{"n": number} for number in range(20)])) == set(BOTH)
    assert set(lesson_layouts(("schema-first",), STATES)) == {"schema-first"}


def test_every_state_is_asked_in_the_layout_given_for_it(parent: Path) -> None:
    with open_decider(parent, engine="onnx", threads=1) as decider:
        layouts = lesson_layouts(decider.reading.layouts, STATES)
        found = collect(decider, RED, STATES, layouts=layouts)
        preferred = collect(decider, RED, STATES)
        for layout in BOTH:
            number = layouts.index(layout)
            answer = decider.ask(STATES[number], RED, layout=layout)
            said = list(answer.probabilities.values())
            np.testing.assert_allclose(np.exp(found.logs[number]), said, atol=1e-6)
    moved = np.abs(found.features - preferred.features).max(axis=(1, 2, 3)) > 1e-3
    assert list(moved) == [layout == "schema-first" for layout in layouts]
