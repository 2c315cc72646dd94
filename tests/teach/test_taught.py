"""What heads answer in a stack, in batches and under a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import thisthat
from tests.teach.small import CUDA, ENGINES, RED, SHADE, STATES, open_on, rows_of
from thisthat import BatchDecider, Boolean, InvalidInputError
from thisthat.calibrate.fit_policy import fit_policy
from thisthat.checkpoint import open_checkpoint
from thisthat.decide.opening import open_decider
from thisthat.decide.target import parse_target
from thisthat.items.labels import LabelledStates
from thisthat.teach.light import Taught, teach

CAR = Boolean("Is it a car?")
ASKED = {"red": RED, "shade": SHADE, "car": CAR, "other": Boolean("Is it late?")}
NEW = ["red deep car", "green deep door", "pale green car", "red pale door"]


@pytest.fixture(scope="module")
def stack(taught: Taught, parent: Path) -> tuple[Path, ...]:
    """The parent, what it was taught, another question on that, and the first again on both."""
    assert taught.folder is not None
    found = [parent, taught.folder]
    for name, question, word in (("car", CAR, "car"), ("red", RED, "door")):
        folder = parent.with_name(f"{name} on top")
        with open_decider(found[-1], engine="onnx", threads=1) as decider:
            below = open_checkpoint(found[-1])
            assert teach(decider, below, {name: rows_of(question, word)}, folder).folder
        found.append(folder)
    return tuple(found)


def answers(place: Path, lam: float | None, engine: str) -> list[Any]:
    """Everything that is answered, of which weights; last what one question answers alone."""
    with open_on(engine, place, lam) as decider:
        told = [each.answers for each in decider.decide_many(NEW, ASKED)]
        alone = decider.decide_many(NEW, {"other": ASKED["other"]})
        return [decider.source.weights, decider.reading, *told, [each.answers for each in alone]]


@pytest.mark.parametrize("engine", ENGINES)
def test_each_of_three_heads_is_undone_bit_for_bit(stack: tuple[Path, ...], engine: str) -> None:
    whole = [answers(place, None, engine) for place in stack]
    for below, (place, expected) in enumerate(zip(stack[1:], whole, strict=False)):
        assert answers(place, 0.0, engine) == expected
        assert whole[below + 1] != expected
        assert answers(place, 0.5, engine)[2:] != expected[2:]
    assert [each[-1] for each in whole] == [whole[0][-1]] * 4
    for number, state in enumerate(NEW):
        first, second, third = (each[2 + number] for each in whole[1:])
        assert first["red"].best == second["red"].best == ("red" in state)
        assert second["car"].best == third["car"].best == ("car" in state)
        assert third["red"] != second["red"]
        if engine != CUDA:  # there a taught question takes those beside it out of the graphs
            assert [each["shade"] for each in (second, third)] == [first["shade"]] * 2
            other = whole[0][2 + number]["other"]
            assert [each["other"] for each in (first, second, third)] == [other] * 3


def test_batches_answer_as_taught(taught: Taught) -> None:
    assert taught.folder is not None
    asked = {"red": RED, "shade": SHADE}
    on, off = (
        BatchDecider(asked, taught.folder, lam=lam, engine="onnx", threads=1)({"state": NEW})
        for lam in (1.0, 0.0)
    )
    assert on["red_best"] == ["red" in state for state in NEW]
    assert on["shade_best"] == ["light" if "pale" in state else "dark" for state in NEW]
    assert on["red_probability"] != off["red_probability"]
    with thisthat.open(taught.folder, engine="onnx", threads=1) as decider:
        alone = [each["red"] for each in decider.decide_many(NEW, asked)]
    assert on["red_probability"] == [each.probabilities[each.best_name] for each in alone]


def test_a_policy_acts_on_taught_answers(taught: Taught, parent: Path, tmp_path: Path) -> None:
    assert taught.folder is not None
    more = [f"{state} again {turn}" for turn in range(4) for state in STATES]
    right = [{"red": int("red" in state)} for state in more]
    labelled = LabelledStates({"red": RED}, more, right)
    with thisthat.open(taught.folder, engine="onnx", threads=1) as decider:
        policy = fit_policy(decider, labelled, parse_target("error<=0.2"))
        decisions = decider.decide_many(NEW, {"red": RED}, policy=policy)
        outcomes = [each["red"].outcome for each in decisions]
    assert "act" in [each.action for each in outcomes if each]
    policy.save(tmp_path / "policy.json")
    batch = BatchDecider(
        {"red": RED}, taught.folder, policy=tmp_path / "policy.json", engine="onnx", threads=1
    )
    assert batch({"state": NEW})["red_action"] == [each.action for each in outcomes if each]
    for place, lam in ((parent, None), (taught.folder, 0.5)):
        with (
            thisthat.open(place, lam=lam, engine="onnx", threads=1) as decider,
            pytest.raises(InvalidInputError, match="policy: was fitted for something else"),
        ):
            decider.decide(NEW[0], {"red": RED}, policy=policy)
