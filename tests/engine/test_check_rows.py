from dataclasses import replace

import pytest

from thisthat.engine.check_rows import check_rows
from thisthat.engine.rows import Branch, Row, Slot
from thisthat.errors import InvalidInputError

GOOD = Row((1,), (2,), (Branch((3, 4), (Slot(0, 1), Slot(1, 5))),))


def test_rows_within_the_limits_pass() -> None:
    check_rows([], vocabulary=5, longest=4, labels=5)
    check_rows([GOOD, replace(GOOD, opened=1)], vocabulary=5, longest=4, labels=5)
    asking = replace(GOOD, state=(0, 1), layers=(1, 2))
    check_rows([asking], vocabulary=5, longest=4, labels=5, layers=2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Row((), (5,), GOOD.branches), "a token id outside 0 to 4"),
        (Row((-1,), (), GOOD.branches), "a token id outside 0 to 4"),
        (Row((1, 1), (2,), GOOD.branches), "a path of 5 tokens, but the model reads 4"),
        (Row((), (), (Branch((1,), (Slot(1, 2),)),)), "a slot at 1, outside its branch"),
        (Row((), (), (Branch((1,), (Slot(-1, 2),)),)), "a slot at -1, outside its branch"),
        (Row((), (), (Branch((1,), (Slot(0, 6),)),)), "6 options, but there are 1 to 5 labels"),
        (Row((), (), (Branch((1,), (Slot(0, 0),)),)), "0 options"),
        (replace(GOOD, opened=2), "opens 2 tokens, but its trunk has 1"),
        (replace(GOOD, opened=-1), "opens -1 tokens, but its trunk has 1"),
        (replace(GOOD, state=(0, 1), layers=(3,)), "layer 3; this engine gives those of layers 1"),
        (replace(GOOD, state=(0, 1), layers=(2, 1)), "not ascending from 1 on"),
        (replace(GOOD, state=(0, 1), layers=(0,)), "not ascending from 1 on"),
        (replace(GOOD, state=(0, 2), layers=(1,)), r"state at \(0, 2\), outside its trunk"),
        (replace(GOOD, layers=(1,)), r"state at \(0, 0\), outside its trunk"),
    ],
)
def test_the_row_and_the_limit_are_named(row: Row, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        check_rows([GOOD, row], vocabulary=5, longest=4, labels=5, layers=2)
    assert caught.value.field == "rows[1]"


def test_an_engine_that_gives_no_hidden_states_says_so() -> None:
    with pytest.raises(InvalidInputError, match="which this engine does not give"):
        check_rows([replace(GOOD, state=(0, 1), layers=(1,))], vocabulary=5, longest=4, labels=5)
