import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.calibrate.test_policy import POLICY
from tests.path_engine import PathEngine, path_decider
from tests.prompt.byte_tokenizer import decode
from thisthat import Boolean, Choice, InvalidInputError
from thisthat.decide.decider import Decider
from thisthat.decide.options import DecideOptions
from thisthat.decide.run import run_procedures
from thisthat.decide.tournament import Tournament
from thisthat.engine.rows import Row, RowResult
from thisthat.questions import Answer, Decision


def played(decider: Decider, question: Choice, group: int = 16) -> Decision:
    """A tournament of every choice that is larger than a group."""
    options, questions = DecideOptions(wide="in-rounds"), {"question": question}
    processor = decider.processor
    tournament = Tournament(processor, "a state", questions, options, wide=group, group=group)
    [(_, played)] = run_procedures(decider.engine, {0: tournament})
    return played.decision


class LikingEngine(PathEngine):
    """Likes an option by the number in its name, so that the best of any list is known."""

    def run(self, rows: Sequence[Row]) -> list[RowResult]:
        self.calls.append(sum(len(row.branches) for row in rows))
        return [RowResult(tuple(self._liked(row, k) for k in range(row.slots)), 0) for row in rows]

    def _liked(self, row: Row, branch: int) -> np.ndarray:
        text = decode(list(row.branches[branch].tokens))
        names = [line.split(") ")[1] for line in text.split("\n") if ") option" in line]
        liked = [float(name.split()[1]) / 10 for name in names]
        return np.array([*liked, *([-5.0] * ("none of these" in text))], dtype=np.float32)


@pytest.mark.parametrize(("count", "group", "rounds"), [(40, 16, 2), (255, 16, 2), (71, 4, 4)])
def test_the_best_option_wins_and_all_have_a_share(count: int, group: int, rounds: int) -> None:
    decider = path_decider()
    decider.engine = LikingEngine()
    question = Choice([f"option {number * 7 % count}" for number in range(count)], "Which?")
    decision = played(decider, question, group)
    answer = decision["question"]
    assert answer.best_name == f"option {count - 1}"
    assert list(answer.probabilities) == [option.name for option in question.options]
    assert math.fsum(answer.probabilities.values()) == pytest.approx(1, abs=1e-12)
    assert min(answer.probabilities.values()) > 0
    assert len(decider.engine.calls) == rounds
    assert decider.engine.calls[-1] == 1


def test_few_options_are_one_ordinary_question() -> None:
    decider = path_decider()
    question = Choice([f"option {number}" for number in range(12)], "Which?", abstain=True)
    decision = played(decider, question)
    assert decision["question"] == decider.ask("a state", question)


def test_two_rounds_multiply_what_the_groups_give() -> None:
    decider = path_decider()
    names = [f"option {number}" for number in range(6)]
    answer = played(decider, Choice(names, "Which?"), 3)["question"]
    first = decider.decide(
        "a state", {"0": Choice(names[0::2], "Which?"), "1": Choice(names[1::2], "Which?")}
    )
    winners = [first["0"].best_name, first["1"].best_name]
    final = decider.ask("a state", Choice(winners, "Which?"))
    for number, name in enumerate(names):
        side = str(number % 2)
        product = first[side].probabilities[name] * final.probabilities[winners[number % 2]]
        assert answer.probabilities[name] == pytest.approx(product, abs=1e-12)


def test_the_abstain_option_stands_in_the_last_round() -> None:
    decider = path_decider()
    decider.engine = LikingEngine()
    question = Choice([f"option {number}" for number in range(50)], "Which?", abstain=True)
    decision = played(decider, question)
    assert list(decision["question"].probabilities)[-1] == "none of these"
    assert 0 < decision["question"].probabilities["none of these"] < 0.01
    assert (
        decision.usage.input_tokens > decider.decide("a state", {"q": question}).usage.input_tokens
    )


WIDE = Choice([f"option {number}" for number in range(40)], "Which?")
NARROW = Choice([f"option {number}" for number in range(20)], "Which?")


def test_only_wide_choices_are_asked_in_rounds_and_all_share_the_first_pass() -> None:
    decider = path_decider()
    questions = {"narrow": NARROW, "wide": WIDE, "yes": Boolean("Is it?")}
    decision = decider.decide("a state", questions, wide="in-rounds")
    assert list(decision.answers) == ["narrow", "wide", "yes"]
    assert decision["wide"] == played(decider, WIDE)["question"]
    assert decision["narrow"] == decider.ask("a state", NARROW)
    assert decision["yes"] == decider.ask("a state", Boolean("Is it?"))
    at_once = decider.decide("a state", questions)
    assert decision["wide"] != at_once["wide"]
    assert decision.usage.input_tokens > at_once.usage.input_tokens


def test_many_states_are_asked_round_by_round() -> None:
    decider = path_decider()
    states = [f"state {number}" for number in range(5)]
    seen: list[tuple[int, int]] = []
    decisions = decider.decide_many(
        states,
        {"q": WIDE},
        wide="in-rounds",
        progress=lambda done, total: seen.append((done, total)),
    )
    answers: list[Answer] = [decider.ask(state, WIDE, wide="in-rounds") for state in states]
    assert [decision["q"] for decision in decisions] == answers
    assert seen[-1] == (5, 5)
    first_round = decider.prompt_text("state 0", {"q": WIDE}, wide="in-rounds")
    assert sum(text.count("option 39") for text in first_round) == 1


def test_bad_input_is_named() -> None:
    decider = path_decider()
    with pytest.raises(InvalidInputError, match="group: is 64; it must be 2 to 32"):
        Tournament(decider.processor, "s", {"q": WIDE}, DecideOptions(), group=64)
    with pytest.raises(InvalidInputError, match="wide: 'sideways' is neither"):
        decider.ask("s", WIDE, wide="sideways")  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match='wide: "in-rounds" needs packing "apart"'):
        decider.ask("s", WIDE, wide="in-rounds", packing="together")
    with pytest.raises(InvalidInputError, match="no policy was fitted for"):
        decider.ask("s", WIDE, wide="in-rounds", policy=POLICY)
    with pytest.raises(InvalidInputError, match="explain: cannot be combined with wide"):
        decider.decide("s", {"q": WIDE}, wide="in-rounds", explain=True)
