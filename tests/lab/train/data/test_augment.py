from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thisthat.items.item import Item
from thisthat.questions import Kind
from thisthat.rng import Rng
from thisthat_lab.train.config import Augment
from thisthat_lab.train.data.augment import (
    make_sheet,
    plain_sheet,
    question_key,
    shuffled,
    swapped_state,
    with_distractors,
    without_descriptions,
    without_names,
)
from thisthat_lab.train.data.draft import Draft


def item(options: int = 4, answer: int = 1, kind: Kind = "choice", **changes: Any) -> Item:
    names = tuple((f"name{i}", f"text {i}") for i in range(options))
    return Item("s", "f", kind, "a state", "Which?", names, answer, **changes)


POOL = [(f"other{i}", f"about {i}") for i in range(300)]
EVERYTHING = Augment(
    shuffle=1, drop_descriptions=0.5, distractors=0.7, abstain_offer=0.5, swap_state=0.5
)


@settings(deadline=None, max_examples=100)
@given(seed=st.integers(0, 10_000), options=st.integers(2, 20), data=st.data())
def test_the_right_answer_stays_right(seed: int, options: int, data: st.DataObject) -> None:
    answer = data.draw(st.integers(0, options - 1))
    one = item(options, answer)
    sheet = make_sheet([one], EVERYTHING, Rng(seed), {question_key(one): POOL}, [False])
    (draft,) = sheet.drafts
    names = [name for name, _ in draft.options]
    right = f"name{answer}"
    assert len(draft.target) == len(names) + (draft.abstain is not None)
    assert sum(draft.target) == 1
    if right in names:
        assert draft.best == names.index(right)
    else:
        assert draft.abstain is not None
        assert draft.best == len(names)
    assert len(set(names)) == len(names) <= 255
    draft.as_question()


@pytest.mark.parametrize("kind", ["boolean", "score"])
def test_the_order_of_booleans_and_scores_is_never_touched(kind: Kind) -> None:
    one = item(2 if kind == "boolean" else 5, 1, kind)
    for seed in range(50):
        sheet = make_sheet([one], EVERYTHING, Rng(seed), {question_key(one): POOL}, [False])
        (draft,) = sheet.drafts
        assert draft.options == Draft.of(one).options
        assert draft.abstain or draft == Draft.of(one)


def test_soft_targets_move_with_their_options() -> None:
    soft = item(3, 0, target=(0.5, 0.3, 0.2))
    for seed in range(20):
        moved = shuffled(Draft.of(soft), Rng(seed))
        pairs = {name: p for (name, _), p in zip(moved.options, moved.target, strict=True)}
        assert pairs == {"name0": 0.5, "name1": 0.3, "name2": 0.2}
    assert with_distractors(Draft.of(soft), POOL, 255, Rng(0)) == Draft.of(soft)


def test_shuffling_puts_the_answer_everywhere_equally() -> None:
    rng = Rng(1)
    places = Counter(shuffled(Draft.of(item(5, 2)), rng).best for _ in range(5000))
    assert set(places) == set(range(5))
    assert all(880 < count < 1120 for count in places.values())


def test_distractors_are_wrong_new_and_at_most_as_many_as_fit() -> None:
    counts = set()
    for seed in range(200):
        pool = [*POOL, ("NAME1", "the answer in capitals")]
        draft = with_distractors(Draft.of(item()), pool, 255, Rng(seed))
        names = [name.casefold() for name, _ in draft.options]
        assert len(set(names)) == len(names) <= 255
        assert draft.best == 1
        counts.add(len(names))
    assert max(counts) > 150
    assert min(counts) < 10
    capped = with_distractors(Draft.of(item()), POOL, 6, Rng(0))
    assert len(capped.options) <= 6
    bare = Draft("choice", "q", (("a", None), ("b", None)), (1.0, 0.0))
    assert all(text is None for _, text in with_distractors(bare, POOL, 9, Rng(0)).options)


def test_descriptions_stay_where_names_say_nothing() -> None:
    assert all(text is None for _, text in without_descriptions(Draft.of(item())).options)
    coded = Draft("choice", "q", (("R1", "first"), ("R2", "second")), (1.0, 0.0))
    assert without_descriptions(coded) is coded


def test_outcomes_keep_their_options() -> None:
    one = item()
    for seed in range(30):
        sheet = make_sheet([one], EVERYTHING, Rng(seed), {question_key(one): POOL}, [True])
        (draft,) = sheet.drafts
        assert set(draft.options) == set(one.options)
        assert draft.abstain is None


def test_states_swap_between_text_and_json() -> None:
    assert swapped_state("one line") == {"text": "one line"}
    assert swapped_state("a grid\n#.#") == "a grid\n#.#"
    assert swapped_state({"a": "x", "b": [1, 2]}) == "a: x\nb: [1, 2]"
    assert swapped_state([1, 2]) == [1, 2]


def test_layouts_are_mixed_and_evaluation_is_plain() -> None:
    rng = Rng(0)
    half = Augment(schema_first=0.5)
    layouts = Counter(make_sheet([item()], half, rng, {}, [False]).layout for _ in range(1000))
    assert 430 < layouts["schema-first"] < 570
    plain = plain_sheet([item()])
    assert (plain.layout, plain.drafts) == ("state-first", (Draft.of(item()),))


def test_descriptions_stand_for_names_only_where_all_differ() -> None:
    draft = Draft.of(item(3))
    assert without_names(draft).options == (("text 0", None), ("text 1", None), ("text 2", None))
    assert without_names(draft).target == draft.target
    for options in ((("a", "one"), ("b", None)), (("a", "one"), ("b", "One"))):
        some = replace(draft, options=options, target=(0.0, 1.0))
        assert without_names(some) == some


def test_names_are_dropped_as_often_as_asked() -> None:
    settings_ = Augment(drop_descriptions=0, drop_names=0.5, abstain_offer=0, distractors=0)
    one = item(3)
    sheets = [make_sheet([one], settings_, Rng(seed), {}, [False]) for seed in range(400)]
    dropped = [sheet for sheet in sheets if sheet.drafts[0].options[0][1] is None]
    assert 150 < len(dropped) < 250
    for sheet in dropped:
        (draft,) = sheet.drafts
        assert draft.options[draft.best][0] == "text 1"


def test_where_names_are_dropped_distractors_have_none_and_none_is_right() -> None:
    always = Augment(drop_descriptions=0, drop_names=1, abstain_offer=0, distractors=1)
    one = item(3)
    pool = [*one.options, ("NAME1", "the right one in other words"), *POOL[:3], ("plain", None)]
    for seed in range(100):
        sheet = make_sheet([one], always, Rng(seed), {question_key(one): pool}, [False])
        (draft,) = sheet.drafts
        texts = {text for text, _ in draft.options}
        assert texts > {text for _, text in one.options}
        assert texts <= {text for _, text in (*one.options, *POOL[:3])}
        assert draft.options[draft.best][0] == "text 1"
