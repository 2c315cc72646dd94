from collections.abc import Sequence

import numpy as np
import pytest

from tests.path_engine import PathEngine, path_decider
from tests.prompt.byte_tokenizer import decode
from thisthat import Boolean, Choice, InvalidInputError
from thisthat.decide.decider import Decider
from thisthat.decide.spans import spans_of
from thisthat.engine.rows import Row, RowResult


class ReadingEngine(PathEngine):
    """Says yes (the second option) when the path holds a known text, and is unsure otherwise."""

    def __init__(self, fact: str) -> None:
        super().__init__()
        self.fact = fact

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.calls.append(len(rows))
        return [self._read(row) for row in rows]

    def _read(self, row: Row) -> RowResult:
        logits = []
        for branch in row.branches:
            for slot in branch.slots:
                text = decode([*row.prefix, *row.trunk, *branch.tokens[: slot.at + 1]])
                values = np.zeros(slot.options, dtype=np.float32)
                values[1] = 4.0 if self.fact in text else -1.0
                logits.append(values)
        return RowResult(tuple(logits), 0)


def reading_decider(fact: str) -> Decider:
    decider = path_decider()
    decider.engine = ReadingEngine(fact)
    return decider


STATE = "The parcel left on Monday. The customer paid twice; the clerk was kind.\nIt rained."


@pytest.mark.parametrize("layout", ["state-first", "schema-first"])
@pytest.mark.parametrize("order", ["as-given", "average"])
def test_the_part_the_answer_depends_on_comes_first(layout: str, order: str) -> None:
    decider = reading_decider("paid twice")
    questions = {"refund": Boolean("Money back?"), "queue": Choice(["ship", "bill"], "Which?")}
    decision = decider.decide(STATE, questions, explain=True, layout=layout, order=order)  # type: ignore[call-overload]
    assert decision.evidence is not None
    for name in questions if order == "as-given" else ["refund"]:
        first, *others = decision.evidence[name]
        assert first.text == "The customer paid twice;"
        assert first.best_without != decision[name].best_name
        assert first.fall == pytest.approx(first.moved)
        assert first.moved > 0.5
        assert all(part.moved == pytest.approx(0, abs=1e-9) for part in others)
        assert len(others) == 3


def test_fields_of_a_json_state_are_evidence() -> None:
    state = {"order": {"total": 12, "paid": "twice"}, "weather": ["rain", "wind"]}
    decision = reading_decider('"paid": "twice"').decide(state, {"q": "Is it?"}, explain=True)
    assert decision.evidence is not None
    assert decision.evidence["q"][0].where == "order.paid"
    record = decision.as_dict()["evidence"]["q"]
    assert record[0]["text"] == '"paid": "twice"'
    parts = {"where", "text", "moved", "fall", "best_without"}
    assert [set(part) for part in record] == [parts] * 4


def test_a_part_counts_by_how_far_it_moves_all_options() -> None:
    decider = path_decider()
    question = {"q": Choice(["ship", "bill", "call"], "Which?")}
    decision = decider.decide(STATE, question, explain=True)
    assert decision.evidence is not None
    without = {span.where: span.without for span in spans_of(STATE)}
    for part in decision.evidence["q"]:
        left = decider.decide(without[part.where], question)["q"].probabilities
        whole = decision["q"].probabilities
        changes = [whole[option] - left[option] for option in whole]
        assert part.moved == pytest.approx(sum(map(abs, changes)) / 2)
        best = decision["q"].best_name
        assert part.fall == pytest.approx(whole[best] - left[best])
    moved = [part.moved for part in decision.evidence["q"]]
    assert moved == sorted(moved, reverse=True)


def test_an_explanation_never_moves_the_answer_and_states_its_cost() -> None:
    decider = path_decider()
    plain = decider.decide(STATE, {"q": Boolean("Is it?")})
    told = decider.decide(STATE, {"q": Boolean("Is it?")}, explain=True)
    assert told.answers == plain.answers
    assert plain.evidence is None
    assert "evidence" not in plain.as_dict()
    assert told.usage.extra_tokens == told.usage.input_tokens - plain.usage.input_tokens
    apart = sum(
        decider.decide(STATE.replace(part.text, ""), {"q": Boolean("Is it?")}).usage.input_tokens
        for part in told.evidence["q"]  # type: ignore[index]
    )
    assert 0 < told.usage.extra_tokens < apart


def test_a_typed_decision_carries_its_evidence() -> None:
    class Triage:
        refund: bool

    decision = reading_decider("paid twice").decide(STATE, Triage, explain=True)
    assert decision.value.refund is True
    assert decision.evidence is not None
    assert decision.evidence["refund"][0].text == "The customer paid twice;"


def test_a_state_without_parts_has_no_evidence() -> None:
    decision = path_decider().decide("...", {"q": "Is it?"}, explain=True)
    assert decision.evidence == {"q": ()}
    assert decision.usage.extra_tokens == 0


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidInputError, match="explain: is for decide"):
        path_decider().ask(STATE, "Is it?", explain=True)
    with pytest.raises(InvalidInputError, match="state"):
        path_decider().decide(7, {"q": "Is it?"}, explain=True)  # type: ignore[call-overload]


def test_a_state_that_had_to_be_cut_is_not_explained() -> None:
    decider = path_decider()
    long = "A sentence. " * decider.reading.state_tokens
    assert decider.decide(long, {"q": "Is it?"}, keep="head").cut is not None
    with pytest.raises(InvalidInputError, match=r"explain: .* only a whole state can be explained"):
        decider.decide(long, {"q": "Is it?"}, keep="head", explain=True)
    whole = decider.decide(STATE, {"q": "Is it?"}, keep="head", explain=True)
    assert whole.evidence is not None
