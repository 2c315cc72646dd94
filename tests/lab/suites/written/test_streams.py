"""Items of written tasks: right answers, even booleans, nothing of what is held out."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, pairwise, takewhile

import pytest

from tests.lab.suites.written.samples import how_late, late, number
from thisthat.errors import InvalidInputError
from thisthat.items.item import Item, render_state
from thisthat.rng import Rng
from thisthat_lab.suites.written.several import several_states
from thisthat_lab.suites.written.streams import (
    WrittenSettings,
    coded,
    held_out_items,
    trainable,
    training_items,
)
from thisthat_lab.suites.written.task import Task, read_task

LATE, NUMBER, HOW = (read_task(make(), "here") for make in (late, number, how_late))
TRUTH = {render_state(state.text): state.answer for state in LATE.states}


def drawn(count: int, *tasks: Task, settings: WrittenSettings | None = None) -> list[Item]:
    return list(islice(training_items(5, tasks, settings), count))


def test_booleans_are_even_and_right() -> None:
    items = drawn(3000, LATE, settings=WrittenSettings(remark=0, several=0))
    booleans = [item for item in items if item.kind == "boolean"]
    assert 0.45 < sum(item.answer for item in booleans) / len(booleans) < 0.55
    for item in items:
        truth = TRUTH[render_state(item.state)]
        if item.kind == "choice":
            assert item.options[item.answer][0] == ("it is late" if truth else "it is on time")
        elif item.question == "Is it on time?":
            assert item.answer == 1 - truth
        elif item.question in LATE.questions:
            assert item.answer == truth


def test_tasks_that_share_a_state_are_asked_together() -> None:
    items = drawn(400, LATE, NUMBER, settings=WrittenSettings(remark=0, several=0))
    families: dict[str, set[str]] = {}
    for item in items:
        families.setdefault(render_state(item.state), set()).add(item.family.split("_verified")[0])
    assert any(len(found) == 2 for found in families.values())


def test_a_twin_follows_its_state_and_is_asked_the_same() -> None:
    plain = WrittenSettings(remark=0, several=0, extra=0, bare=0, coded=0)
    pairs = {render_state(state.text): state.pair for state in LATE.states}
    items, followed = drawn(900, LATE, settings=replace(plain, twins=1)), 0
    while len(items) > 10:
        text = _text(items[0])
        own = list(takewhile(lambda item, text=text: _text(item) == text, items))  # type: ignore[misc]
        items = items[len(own) :]
        if pairs[text] is None:
            continue
        twins, items = items[: len(own)], items[len(own) :]
        followed += 1
        for one, two in zip(own, twins, strict=True):
            assert one.question == two.question
            assert one.answer == 1 - two.answer
            assert pairs[_text(two)] == pairs[text]
    assert followed > 10
    apart = [_text(item) for item in drawn(900, LATE, settings=plain)]
    beside = [one != two and pairs[one] == pairs[two] == "a" for one, two in pairwise(apart)]
    assert sum(beside) < followed / 4


def _text(item: Item) -> str:
    return render_state(item.state)


def test_shares_lie_between_zero_and_one() -> None:
    with pytest.raises(InvalidInputError, match="twins"):
        WrittenSettings(twins=1.5)


def test_held_out_tasks_and_their_states_are_never_trained() -> None:
    hidden = read_task(
        number(
            split="heldout",
            states=number()["states"][:10] + [[f"another {n}", n % 2] for n in range(12)],
        ),
        "here",
    )
    kept = trainable([LATE, hidden])
    assert [task.name for task in kept] == ["parcel_late"]
    assert len(kept[0].states) == 10
    shown = {render_state(state.text) for state in hidden.states}
    for item in drawn(500, LATE, hidden):
        assert item.family.startswith("logistics.parcel_late")
        assert not any(text in render_state(item.state) for text in shown)


def test_held_out_items_ask_every_state_once_in_turning_wordings() -> None:
    task = read_task(late(split="heldout"), "here")
    items = held_out_items([task, HOW])
    assert len(items) == len(task.states)
    assert {item.question for item in items} == {*task.questions, *task.negated}
    for item in items:
        truth = TRUTH[render_state(item.state)]
        assert item.answer == (1 - truth if item.question in task.negated else truth)
    assert items[0].facts == {"domain": "logistics", "pair": "a"}


def test_coded_options_say_what_they_stand_for() -> None:
    item = coded(held_out_items([read_task(number(split="heldout"), "here")])[0], Rng(2))
    assert len({name for name, _ in item.options}) == 2
    assert item.options[0][1] == "low: below ten"


def test_several_states_are_answered_each_by_its_own() -> None:
    same = []
    for seed in range(200):
        for item in several_states(LATE, "written", Rng(seed)):
            text = render_state(item.state)
            if "same for" in item.question:
                same.append(item.answer)
                continue
            if item.kind == "choice":
                wanted = "late" if '"yes"' in item.question else "on time"
                name = item.options[item.answer][0]
                assert f"is {wanted}." in _entry(text, name)
            else:
                name = item.question.partition(":")[0].removeprefix("About ")
                assert (item.answer == 1) == ("is late." in _entry(text, name))
    assert 0.35 < sum(same) / len(same) < 0.65


def test_a_minimal_pair_often_stands_side_by_side() -> None:
    first, second = (str(state.text) for state in LATE.states[:2])
    texts = {
        render_state(item.state)
        for seed in range(100)
        for item in several_states(LATE, "written", Rng(seed))
    }
    assert sum(first in text and second in text for text in texts) > len(texts) / 3


def _entry(text: str, name: str) -> str:
    """What the entry of that name says, from "is" on."""
    lowered = text.lower()
    starts = [lowered.find(f"{name.lower()}{mark}") for mark in (":", '"')]
    _, verb, rest = text[max(starts) :].partition("is ")
    return verb + rest.partition(".")[0] + "."
