"""No drift, no alarm, however long the stream; drift is found."""

from __future__ import annotations

import numpy as np
import pytest

from tests.calibrate.test_policy import POLICY
from thisthat.calibrate.drift import (
    LEAST_ROWS,
    DriftMartingale,
    DriftTest,
    QuestionDrift,
    advice_about,
    sure_cell,
    sureness,
)
from thisthat.decide.policy import QuestionPart, ReferencePart


def test_a_stream_without_drift_rarely_alarms() -> None:
    rng = np.random.default_rng(1)
    alarms = 0
    for seed in range(40):
        bets = sureness(rng.random(100), seed)
        for value in np.round(rng.random(600), 1):
            bets.add(sure_cell(float(value)))
        alarms += bets.drifted(0.05)
    assert alarms <= 5


def test_values_that_repeat_are_no_drift() -> None:
    bets = DriftMartingale([1] * 50, 3)
    for _ in range(500):
        bets.add(1)
    assert not bets.drifted(0.05)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_drift_of_a_probability_is_found(power: float) -> None:
    rng = np.random.default_rng(2)
    bets = sureness(rng.random(300))
    for value in rng.random(800) ** power:
        bets.add(sure_cell(float(value)))
    assert bets.drifted(0.001)


def test_the_same_stream_gives_the_same_bets_and_keys_name_them() -> None:
    values = np.random.default_rng(3).integers(0, 4, 200).tolist()

    def wealth(*keys: int) -> float:
        bets = DriftMartingale([0, 1, 2, 3] * 20, 4, *keys)
        return [bets.add(value) for value in values][-1]

    assert wealth(1) == wealth(1) != wealth(2)


def test_cells_rise_with_the_probability_and_have_ends() -> None:
    cells = [sure_cell(each) for each in (0.0, 1e-9, 0.2, 0.5, 0.501, 0.9, 0.999, 0.9999, 1.0)]
    assert cells == sorted(cells)
    assert len(set(cells[2:8])) == 5  # 0.5 and 0.501 share one
    assert 0 <= cells[0] < cells[-1] < 2_401


def fitted(random: np.random.Generator, rows: int) -> QuestionPart:
    part = POLICY.questions["queue"]
    best = dict(zip(part.options, (rows // 2, rows - rows // 2, 0), strict=True))
    sure = sorted(random.beta(5, 1, rows).tolist())
    return part.model_copy(update={"reference": ReferencePart(best=best, sure=sure)})


def drifted(part: QuestionPart, best: list[str], sure: list[float]) -> list[DriftTest]:
    bets = QuestionDrift("queue", part, 0.01)
    for option, value in zip(best, sure, strict=True):
        bets.add(*bets.cells(option, value))
    return bets.tests()


def test_drift_is_seen_and_its_absence_is_not_taken_for_it() -> None:
    random = np.random.default_rng(2)
    part = fitted(random, 400)
    first, second, third = part.options
    usual = random.choice([first, second], 300).tolist()
    sure = random.beta(5, 1, 300).tolist()
    none = drifted(part, usual, sure)
    assert [(test.test, test.drifted) for test in none] == [
        ("how sure", False),
        ("which option", False),
    ]
    unsure = drifted(part, usual, random.beta(2, 1, 300).tolist())
    assert [test.drifted for test in unsure] == [True, False]
    for other in (first, third, "an option nobody knows"):
        assert [test.drifted for test in drifted(part, [other] * 300, sure)] == [False, True]
    said = str(unsure[0])
    assert said.startswith("queue: drift since the policy was fitted (how sure, e-value ")
    assert said.endswith(" of 200, 300 decisions)")
    [few, _] = drifted(fitted(random, 40), usual, sure)
    assert str(few).endswith(" of 200, 300 decisions, fitted on 40 labels)")


def test_a_swap_between_the_ends_and_the_middle_is_seen() -> None:
    random = np.random.default_rng(4)
    part = fitted(random, 300)
    first, middle, last = part.options
    even = ReferencePart(best={first: 100, middle: 100, last: 100}, sure=part.reference.sure)
    part = part.model_copy(update={"reference": even})
    outer = random.choice([first, last], 300).tolist()
    assert [test.drifted for test in drifted(part, outer, random.beta(5, 1, 300).tolist())] == [
        False,
        True,
    ]


def test_a_few_decisions_tell_nothing() -> None:
    random = np.random.default_rng(3)
    part = fitted(random, 400)
    few = LEAST_ROWS - 1
    tests = drifted(part, part.options[:1] * 3 + part.options[1:2] * 3, [0.9] * 6)
    assert [test.enough for test in tests] == [False, False]
    assert "too few decisions to tell drift" in str(tests[0])
    wait = "50 decisions of a question are needed to tell its drift; so far: 6 of"
    [line] = advice_about(tests)
    assert line.startswith(wait)
    scarce = fitted(random, few)
    usual = random.choice(part.options[:2], 80).tolist()
    tests = drifted(scarce, usual, random.beta(5, 1, 80).tolist())
    assert not tests[0].enough
    assert "too few labels to tell drift" in str(tests[0])
    assert "80 decisions, fitted on 49 labels)" in str(tests[0])
    [line] = advice_about(tests)
    assert "the policy was fitted on 49 of" in line
    assert "decisions do not make up for labels: fit it again" in line
    assert len(advice_about(drifted(scarce, usual[:3], [0.9] * 3))) == 2
    assert advice_about([]) == []
