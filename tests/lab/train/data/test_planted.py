from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from thisthat.calibrate.injection_probes import WORDINGS
from thisthat.items.item import Item
from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.train.data import planted
from thisthat_lab.train.data.augment import Sheet, plain_sheet
from thisthat_lab.train.data.planted import with_instruction

OPTIONS = (("red", None), ("green", "like grass"), ("blue", None))


def sheet(state: Text = "one\ntwo\nthree") -> Sheet:
    return plain_sheet([Item("s", "f", "choice", state, "Which?", OPTIONS, 1)])


@given(seed=st.integers(0, 10_000), state=st.text(max_size=80))
def test_one_line_is_added_and_everything_else_stays(seed: int, state: str) -> None:
    before = sheet(state)
    after = with_instruction(before, Rng(seed))
    lines = str(after.state).split("\n")
    added = [n for n in range(len(lines)) if lines[:n] + lines[n + 1 :] == state.split("\n")]
    assert added
    assert any(name in lines[n] for n in added for name, _ in OPTIONS)
    assert after.drafts == before.drafts


def test_the_instruction_tells_nothing_about_the_answer() -> None:
    named = Counter(
        next(name for name, _ in OPTIONS if name in str(with_instruction(sheet(""), Rng(n)).state))
        for n in range(3000)
    )
    assert all(900 < count < 1100 for count in named.values())


def test_a_json_state_gets_one_more_field_and_a_list_none() -> None:
    after = with_instruction(sheet({"note": 1, "b": [2]}), Rng(1)).state
    assert isinstance(after, dict)
    (new,) = set(after) - {"note", "b"}
    assert {name: value for name, value in after.items() if name != new} == {"note": 1, "b": [2]}
    assert with_instruction(sheet([1, 2]), Rng(1)).state == [1, 2]


def test_no_wording_is_one_that_the_bench_measures_with() -> None:
    measured = {text.casefold() for text in WORDINGS.values()}
    assert not measured & {text.casefold() for text in planted._WORDINGS}
    assert all("{option}" in text for text in planted._WORDINGS)
