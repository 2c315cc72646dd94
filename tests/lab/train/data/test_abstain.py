from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.errors import InvalidInputError
from thisthat.items.item import Item
from thisthat.questions import Question, Text
from thisthat.rng import Rng
from thisthat_lab.train.data.abstain import insert_abstention, measure_leakage, offer_abstention
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


def test_leakage_needs_choices() -> None:
    boolean = Item("s", "f", "boolean", "x", "q", (("no", None), ("yes", None)), 0)
    with pytest.raises(InvalidInputError, match="items: none is a choice"):
        measure_leakage([boolean], lambda pairs: [])
