"""What is read of states to learn from, and in which layout."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.teach.small import RED, STATES
from thisthat import InvalidInputError
from thisthat.decide.opening import open_decider
from thisthat.teach.collect import Again, Collected, collect, collect_lessons


def test_half_of_the_states_are_read_again_in_the_other_layout(parent: Path) -> None:
    with open_decider(parent, engine="onnx", threads=1) as decider:
        told: list[int] = []
        found, again = collect_lessons(decider, RED, STATES, told.append)
        assert again is not None
        assert 15 < len(again.rows) < 45
        assert told[-1] == len(STATES) + len(again.rows)
        for layout, each, number, row in (
            ("state-first", found, 7, 7),
            ("schema-first", again.collected, 3, again.rows[3]),
        ):
            answer = decider.ask(STATES[row], RED, layout=layout)  # type: ignore[call-overload]
            said = list(answer.probabilities.values())
            np.testing.assert_allclose(np.exp(each.logs[number]), said, atol=1e-6)
            assert each.texts[number] == STATES[row]
        turned = collect_lessons(decider, RED, STATES[::-1])[1]
    assert turned is not None
    assert {STATES[::-1][row] for row in turned.rows} == {STATES[row] for row in again.rows}


def test_where_a_checkpoint_reads_one_layout_nothing_is_read_again(parent: Path) -> None:
    with open_decider(parent, engine="onnx", threads=1) as decider:
        decider.reading = replace(decider.reading, layouts=("state-first",))  # type: ignore[misc]
        assert collect_lessons(decider, RED, STATES)[1] is None


def test_a_state_that_cannot_be_read_is_named_by_its_place_among_all(parent: Path) -> None:
    states = ["fine", "fine too", "long " * 5000]
    with (
        open_decider(parent, engine="onnx", threads=1) as decider,
        pytest.raises(InvalidInputError, match=r"states\[2\]"),
    ):
        collect(decider, RED, states, rows=[0, 2])


def test_of_some_states_the_other_readings_of_those_alone_are_kept() -> None:
    logs = np.arange(3.0)[:, None]
    again = Again(
        Collected(logs, np.zeros((3, 1, 3, 2)), ["b", "d", "e"], (1,)), np.array([1, 3, 4])
    )
    part = again.part(np.array([4, 0, 1]))
    assert part.rows.tolist() == [2, 0]
    assert part.collected.texts == ["b", "e"]
