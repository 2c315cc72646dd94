from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import Kind, Question, Text
from thisthat.rng import Rng
from thisthat_lab.train.config import Augment
from thisthat_lab.train.data.abstain import (
    insert_abstention,
    insert_withheld,
    measure_leakage,
    offer_abstention,
)
from thisthat_lab.train.data.augment import make_sheet
from thisthat_lab.train.data.draft import Draft


def draft(options: int, answer: int) -> Draft:
    return Draft.of(item(options, answer))


def item(options: int, answer: int) -> Item:
    names = tuple((f"option {i}", None) for i in range(options))
    return Item("s", "f", "choice", f"the answer is {answer}", "Which?", names, answer)


@settings(deadline=None)
@given(options=st.integers(2, 20), data=st.data(), right=st.booleans(), seed=st.integers(0, 1000))
def test_the_right_answer_goes_exactly_when_abstaining_is_right(
    options: int, data: st.DataObject, right: bool, seed: int
) -> None:
    answer = data.draw(st.integers(0, options - 1))
    before = draft(options, answer)
    after = offer_abstention(before, right, "none", Rng(seed))
    names = [name for name, _ in after.options]
    assert (f"option {answer}" not in names) == right
    assert len(names) == options - 1  # the count says nothing either
    assert sum(after.target) == 1
    assert after.best == (options - 1 if right else names.index(f"option {answer}"))
    assert after.as_question().declared[-1].name == "none"


def test_being_offered_tells_nothing() -> None:
    """P(abstain is right | offered) is the base rate, whatever the number of options."""
    rng = Rng("abstain")
    for options in (2, 3, 10):
        trials = [insert_abstention(draft(options, 0), 0.5, 0.3, rng) for _ in range(20_000)]
        offered = [trial for trial in trials if trial.abstain is not None]
        assert len(offered) == pytest.approx(10_000, abs=4 * 71)
        right = np.mean([trial.target[-1] == 1 for trial in offered])
        assert right == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / 10_000) ** 0.5)


def test_what_cannot_abstain_is_left_alone() -> None:
    rng = Rng(0)
    soft = Draft("choice", "q", (("a", None), ("b", None)), (0.6, 0.4))
    boolean = Draft("boolean", "q", (("no", None), ("yes", None)), (1.0, 0.0))
    listed = Draft("choice", "q", (("a", None), ("None of these", None)), (1.0, 0.0))
    for unchanged in (soft, boolean, listed):
        assert insert_abstention(unchanged, 1.0, 0.5, rng) is unchanged


def answer_as(knows_state: bool, leaks: bool) -> object:
    """A model that reads the state, or does not, or abstains by what is missing."""

    def distributions(pairs: Sequence[tuple[Text, Question]]) -> list[list[float]]:
        found = []
        for state, question in pairs:
            names = [option.name for option in question.declared]
            offered = question.abstain is not None
            weights = [1.0] * len(names)
            if knows_state and str(state).startswith("the answer"):
                wanted = f"option {str(state).rsplit(' ', 1)[1]}"
                weights[names.index(wanted) if wanted in names else -1] += 50
            if leaks and offered and "option 0" not in names:
                weights[-1] += 50
            found.append([w / sum(weights) for w in weights])
        return found

    return distributions


def test_leakage_tells_models_apart() -> None:
    items = [item(4, 0) for _ in range(30)] + [item(4, 2) for _ in range(30)]
    honest = measure_leakage(items, answer_as(True, False))  # type: ignore[arg-type]
    assert honest.cases == 120
    assert honest.auc == 1.0
    assert honest.blank_auc == pytest.approx(0.5)
    assert honest.accuracy == 1.0
    assert honest.shift < 0.1
    # This one abstains whenever the first option is missing, which tells the answer half the time.
    leaky = measure_leakage([item(4, 0)] * 30, answer_as(False, True))  # type: ignore[arg-type]
    assert leaky.blank_auc > 0.9


def test_leakage_needs_certain_answers() -> None:
    soft = Item("s", "f", "choice", "x", "q", (("a", None), ("b", None)), 0, (0.6, 0.4))
    with pytest.raises(InvalidInputError, match="items: none has a certain answer"):
        measure_leakage([soft], lambda pairs: [])


@pytest.mark.parametrize("kind", ["boolean", "score"])
def test_booleans_and_scores_abstain_where_the_state_is_withheld(kind: Kind) -> None:
    rng = Rng("withheld", kind)
    before = Draft(kind, "q", (("no", None), ("yes", None)), (0.0, 1.0))
    trials = [insert_withheld(before, {"paid": 3}, 0.5, 0.3, rng) for _ in range(20_000)]
    offered = [(state, after) for state, after in trials if after.abstain is not None]
    assert len(offered) == pytest.approx(10_000, abs=4 * 71)
    right = [after.target[-1] == 1 for _, after in offered]
    assert np.mean(right) == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / 10_000) ** 0.5)
    for (state, after), abstains in zip(offered, right, strict=True):
        assert (state != {"paid": 3}) == abstains
        assert after.options == before.options
        assert sum(after.target) == 1
        assert after.as_question().abstain is not None
    assert all(state == {"paid": 3} for state, after in trials if after.abstain is None)


def test_a_row_of_one_boolean_trains_abstention() -> None:
    one = Item("s", "f", "boolean", "the state", "q", (("no", None), ("yes", None)), 1)
    settings = Augment(abstain_offer=1.0, abstain_rate=1.0, swap_state=0)
    sheet = make_sheet([one], settings, Rng(1), {}, [False])
    assert sheet.state != "the state"
    assert sheet.drafts[0].target == (0.0, 0.0, 1.0)
    # What happened is a fact whatever is asked, and other questions need their state.
    assert make_sheet([one], settings, Rng(1), {}, [True]).state == "the state"
    assert make_sheet([one, one], settings, Rng(1), {}, [False, False]).state == "the state"


def test_leakage_of_booleans_is_read_off_the_state() -> None:
    items = [
        Item("s", "f", "boolean", "known", f"q{n}", (("no", None), ("yes", None)), 1)
        for n in range(20)
    ]

    def reads(pairs: Sequence[tuple[Text, Question]]) -> list[list[float]]:
        return [
            [0.1, 0.8, 0.1][: len(q.declared)] if state == "known" else [0.1, 0.1, 0.8]
            for state, q in pairs
        ]

    found = measure_leakage(items, reads)
    assert (found.auc, found.blank_auc, found.accuracy) == (1.0, 0.5, 1.0)
