from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thisthat.items.item import Item
from thisthat.questions import Text
from thisthat.rng import Rng
from thisthat_lab.train.data import noise
from thisthat_lab.train.data.augment import Sheet, plain_sheet
from thisthat_lab.train.data.noise import with_gaps, with_typos

PROSE = (
    "The parcel for Dana came this morning and the driver left it with the neighbour because "
    "nobody answered the door, but it was not damaged and cost only 12 euros more than planned."
)
CODE = "for i in range(10): total += prices[i] * (1 - rate)  # not prose at all"
TABLE = "order 17 | 3 pieces | 12.50 EUR | shipped 2026-03-04 | Riga | LV-1010 | paid"


def sheet(state: Text) -> Sheet:
    return plain_sheet([Item("s", "f", "boolean", state, "So?", (("no", None), ("yes", None)), 1)])


def text(changed: Sheet) -> str:
    assert isinstance(changed.state, str)
    return changed.state


@given(seed=st.integers(0, 10_000))
def test_gaps_only_leave_out_plain_words(seed: int) -> None:
    left = text(with_gaps(sheet(PROSE), Rng(seed))).split(" ")
    words = PROSE.split(" ")
    parts = difflib.SequenceMatcher(None, words, left, autojunk=False).get_opcodes()
    gone = [word for tag, start, end, *_ in parts if tag != "equal" for word in words[start:end]]
    assert {tag for tag, *_ in parts} <= {"equal", "delete"}
    assert all(word.islower() and word.isalpha() and word not in noise._KEPT for word in gone)


def test_about_a_tenth_of_the_plain_words_is_left_out() -> None:
    words = PROSE.split(" ")
    plain = sum(noise._may_change(word) for word in words)
    left = [len(text(with_gaps(sheet(PROSE), Rng(seed))).split(" ")) for seed in range(2000)]
    share = sum(len(words) - count for count in left) / len(left) / plain
    assert 0.05 < share < 0.15


@given(seed=st.integers(0, 10_000))
def test_typos_keep_every_word_its_first_letter_and_what_answers_hang_on(seed: int) -> None:
    words = PROSE.split(" ")
    typed = text(with_typos(sheet(PROSE), Rng(seed))).split(" ")
    assert len(typed) == len(words)
    for before, after in zip(words, typed, strict=True):
        assert after[0] == before[0].lower() or after[0] == before[0]
        assert abs(len(after) - len(before)) <= 1
        if not noise._may_change(before):
            assert after.casefold() == before.casefold()


@pytest.mark.parametrize("change", [with_gaps, with_typos])
@pytest.mark.parametrize("state", [CODE, TABLE, {"text": PROSE}, [PROSE], "short words only"])
def test_what_is_no_prose_stays(change: object, state: Text) -> None:
    assert callable(change)
    assert all(change(sheet(state), Rng(seed)).state == state for seed in range(50))


@pytest.mark.parametrize("change", [with_gaps, with_typos])
def test_the_same_stream_makes_the_same_text_and_others_others(change: object) -> None:
    assert callable(change)
    made = [text(change(sheet(PROSE), Rng(seed))) for seed in range(60)]
    assert made == [text(change(sheet(PROSE), Rng(seed))) for seed in range(60)]
    assert len(set(made)) > 20


def test_lines_that_are_no_prose_stay_between_lines_that_are() -> None:
    changed = {text(with_gaps(sheet(f"{PROSE}\n{CODE}\n{PROSE}"), Rng(n))) for n in range(20)}
    assert len(changed) > 10
    assert all(one.split("\n")[1] == CODE for one in changed)
