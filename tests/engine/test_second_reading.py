from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.engine.prefix_cache import CacheStatistics
from thisthat.engine.protocol import Capabilities, Engine
from thisthat.engine.rows import Branch, Row, RowResult, Slot
from thisthat.engine.second_reading import CLOSE, SecondReading
from thisthat.engine.statistics import EngineStatistics


class Told(Engine):
    """Answers every slot with what is told for the token at its place."""

    capabilities = Capabilities(rows_apart=True, tokens_together=7)

    def __init__(self, by_token: dict[int, list[float]], name: str = "told") -> None:
        self.by_token = by_token
        self.name = name
        self.asked: list[Row] = []
        self.closed = False

    @property
    def description(self) -> str:
        return self.name

    @property
    def longest(self) -> int:
        return 99

    @property
    def statistics(self) -> EngineStatistics:
        count = len(self.asked)
        return EngineStatistics(count, count, 0, 0, CacheStatistics(*[0] * 8))

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.asked += rows
        return [
            RowResult(
                tuple(
                    np.array(self.by_token[branch.tokens[slot.at]][: slot.options], np.float32)
                    for branch in row.branches
                    for slot in branch.slots
                ),
                cached_tokens=len(row.prefix),
            )
            for row in rows
        ]

    def close(self) -> None:
        self.closed = True


SURE, CLOSE_CALL, SINGLE = 1, 2, 3
FAST = {SURE: [3.0, 1.0], CLOSE_CALL: [1.0, 1.05], SINGLE: [0.5]}
FINER = {SURE: [-9.0, 9.0], CLOSE_CALL: [1.1, 1.0], SINGLE: [7.0]}


def branch(*tokens: int) -> Branch:
    slots = [Slot(at, len(FAST[token])) for at, token in enumerate(tokens) if token in FAST]
    return Branch(tokens, tuple(slots))


def engines() -> tuple[Told, Told, SecondReading]:
    fast, finer = Told(FAST, "fast"), Told(FINER, "finer")
    return fast, finer, SecondReading(fast, lambda: finer)


def test_close_calls_are_decided_by_the_finer_engine_and_nothing_else_is() -> None:
    _, finer, engine = engines()
    row = Row((8,), (9,), (branch(SURE), branch(SINGLE, CLOSE_CALL, SURE, 5)), opened=1)
    (result,) = engine.run([row])
    assert [list(logits) for logits in result.logits] == [
        pytest.approx(FAST[SURE]),
        pytest.approx(FAST[SINGLE]),
        pytest.approx(FINER[CLOSE_CALL]),
        pytest.approx(FAST[SURE]),
    ]
    assert result.cached_tokens == 1
    (again,) = finer.asked
    assert again == Row((8,), (9,), (Branch((SINGLE, CLOSE_CALL), (Slot(1, 2),)),), opened=1), (
        "the finer engine reads the state and nothing after the close call"
    )
    assert engine.statistics.second_readings == 1


def test_the_finer_engine_is_opened_once_and_only_when_needed() -> None:
    opened: list[Told] = []

    def open_finer() -> Told:
        opened.append(Told(FINER))
        return opened[-1]

    engine = SecondReading(Told(FAST), open_finer)
    engine.run([Row((), (), (branch(SURE),))])
    assert not opened
    assert engine.statistics.second_readings == 0
    engine.open_all()
    engine.run([Row((), (), (branch(CLOSE_CALL),))])
    assert len(opened) == 1
    engine.close()
    assert opened[0].closed


def test_it_says_what_it_does() -> None:
    _, _, engine = engines()
    assert engine.description == "fast, close calls read twice"
    assert engine.longest == 99
    assert engine.capabilities == Told.capabilities


@given(
    st.lists(
        st.lists(st.sampled_from([SURE, CLOSE_CALL, SINGLE]), min_size=1, max_size=4),
        min_size=1,
        max_size=5,
    )
)
def test_an_answer_does_not_depend_on_the_rows_beside_it(rows: list[list[int]]) -> None:
    made = [Row((), (), tuple(branch(token) for token in tokens)) for tokens in rows]
    together = engines()[2].run(made)
    alone = [engines()[2].run([row])[0] for row in made]
    for one, other in zip(together, alone, strict=True):
        assert [list(logits) for logits in one.logits] == [list(logits) for logits in other.logits]


@given(st.floats(-5, 5), st.floats(0, 1))
def test_close_is_a_lead_below_the_limit(best: float, lead: float) -> None:
    fast = Told({1: [best, best - lead]})
    finer = Told({1: [0.0, 0.0]})
    SecondReading(fast, lambda: finer).run([Row((), (), (Branch((1,), (Slot(0, 2),)),))])
    held = np.float32(best) - np.float32(best - lead)
    assert bool(finer.asked) == (held < CLOSE)


@pytest.mark.parametrize(("options", "read_again"), [(9, True), (11, False)])
def test_where_every_option_is_unlikely_there_is_no_close_call(
    options: int, read_again: bool
) -> None:
    fast = Told({1: [2.0] * options})
    finer = Told({1: [0.0] * options})
    SecondReading(fast, lambda: finer).run([Row((), (), (Branch((1,), (Slot(0, options),)),))])
    assert bool(finer.asked) == read_again
