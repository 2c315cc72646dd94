import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.path_engine import PathEngine, path_decider
from tests.prompt.byte_tokenizer import decode
from thisthat import Boolean, Choice, InvalidInputError
from thisthat.calibrate.tournament import decide_in_rounds
from thisthat.engine.rows import Row, RowResult


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
    decision = decide_in_rounds(decider, "a state", question, group=group)
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
    decision = decide_in_rounds(decider, "a state", question)
    assert decision["question"] == decider.ask("a state", question)


def test_two_rounds_multiply_what_the_groups_give() -> None:
    decider = path_decider()
    names = [f"option {number}" for number in range(6)]
    answer = decide_in_rounds(decider, "a state", Choice(names, "Which?"), group=3)["question"]
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
    decision = decide_in_rounds(decider, "a state", question)
    assert list(decision["question"].probabilities)[-1] == "none of these"
    assert 0 < decision["question"].probabilities["none of these"] < 0.01
    assert (
        decision.usage.input_tokens > decider.decide("a state", {"q": question}).usage.input_tokens
    )


def test_bad_input_is_named() -> None:
    with pytest.raises(InvalidInputError, match="question: is a Boolean"):
        decide_in_rounds(path_decider(), "s", Boolean("Is it?"))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="group: is 64; it must be 2 to 32"):
        decide_in_rounds(path_decider(), "s", Choice(["a", "b"]), group=64)
