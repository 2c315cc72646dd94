from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.calibrate.scores import drawn
from thisthat.calibrate.binomial import faultless_rows, lower_tail
from thisthat.calibrate.proposal import proposed
from thisthat.calibrate.threshold import (
    MOST_PROPOSING,
    Scored,
    _split,
    certify,
    fit_cutoffs,
    least_labels,
    likely_labels,
)
from thisthat.decide.target import parse_target
from thisthat.errors import InvalidInputError


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400), st.floats(0.001, 0.9))
def test_the_binomial_tail_is_scipys(successes: int, more: int, rate: float) -> None:
    trials = successes + more
    assert lower_tail(successes, trials, rate) == pytest.approx(
        stats.binom.cdf(successes, trials, rate), rel=1e-9, abs=1e-300
    )


def test_the_binomial_tail_far_out() -> None:
    assert lower_tail(900, 100_000, 0.01) == pytest.approx(stats.binom.cdf(900, 100_000, 0.01))
    assert lower_tail(-1, 5, 0.5) == 0.0


@pytest.mark.parametrize(("rate", "delta"), [(0.01, 0.05), (0.001, 0.1), (0.5, 0.05), (0.02, 0.2)])
def test_faultless_rows_are_the_fewest_that_pass(rate: float, delta: float) -> None:
    rows = faultless_rows(rate, delta)
    assert lower_tail(0, rows, rate) <= delta
    assert rows == 1 or lower_tail(0, rows - 1, rate) > delta


@pytest.mark.parametrize(
    ("rate", "delta"), [(0.01, 0.05), (0.001, 0.1), (0.2, 0.05), (0.0001, 0.1)]
)
def test_the_fewest_labels_can_pass_and_one_fewer_cannot(rate: float, delta: float) -> None:
    target = parse_target(f"error<={rate}")
    fewest = least_labels(rate, delta)
    same = np.full(fewest, 0.9)
    assert certify(same, np.ones(fewest, bool), target, delta) == 0.9
    assert certify(same[1:], np.ones(fewest - 1, bool), target, delta) is None
    assert fewest <= faultless_rows(rate, delta) * 1.25 + 1
    assert fewest <= faultless_rows(rate, delta) + MOST_PROPOSING


def test_the_projected_number_of_labels_is_about_right() -> None:
    scored = drawn(200_000, 2, seed=5)
    sure, right = scored.probability, scored.right
    likely = likely_labels(sure[:400], right[:400], 0.01, 0.05)
    assert likely is not None
    assert likely > 400
    assert certify(sure[: 3 * likely], right[: 3 * likely], parse_target("error<=0.01"), 0.05)
    assert likely_labels(sure, np.zeros(len(sure), bool), 0.01, 0.05) is None
    assert likely_labels(sure[:0], right[:0], 0.01, 0.05) is None


def test_the_projected_number_of_labels_does_often_but_not_always() -> None:
    target, labels, done = parse_target("error<=0.02"), 200, []
    for seed in range(100):
        every = drawn(labels * 20, 2, seed=seed)
        sure, right = every.probability, every.right
        likely = likely_labels(sure[:labels], right[:labels], target.wrong_rate, 0.05)
        if certify(sure[:labels], right[:labels], target, 0.05) is None and likely is not None:
            done.append(certify(sure[:likely], right[:likely], target, 0.05) is not None)
    assert 0.6 < np.mean(done) < 0.85


@pytest.mark.parametrize("text", ["error<=0.05", "error<=0.3", "cost(fp=10,fn=1)"])
@pytest.mark.parametrize("seed", range(5))
def test_the_cutoff_is_that_of_an_independent_fixed_sequence(text: str, seed: int) -> None:
    """With scipy: go on while the upper Clopper-Pearson bound keeps the target."""
    target, delta = parse_target(text), 0.1
    scored = drawn(700, 3, seed=50 + seed)
    proposing, testing = _split(700)
    assert sorted([*proposing, *testing]) == list(range(700))
    sequence = proposed(
        scored.probability[proposing], scored.right[proposing], len(testing), target, delta
    )
    passed: list[tuple[float, float]] = []
    for cut in sequence:
        acted = scored.probability[testing] >= cut
        wrong = (scored.best[testing] != scored.label[testing]) & acted
        faults, rows = int(wrong.sum()), int(acted.sum())
        bound = stats.beta.ppf(1 - delta, faults + 1, rows - faults) if faults < rows else 1.0
        if bound > target.wrong_rate:
            break
        missed = (scored.right[testing] & ~acted).sum()
        passed.append((10.0 * faults + missed, cut))
    found = certify(scored.probability, scored.right, target, delta)
    if target.aim == "cost":
        assert found == min(passed, key=lambda pair: pair[0])[1]
    else:
        assert found == min(cut for _, cut in passed)


def test_what_a_cutoff_says_about_the_labels_is_counted() -> None:
    scored = drawn(5000, 3, seed=6)
    for target in ("precision>=0.9", "error<=0.1"):
        for option, cut in fit_cutoffs(scored, [0, 1, 2], parse_target(target), 0.1).items():
            assert cut.value is not None
            mine = scored.best == option if target.startswith("p") else scored.best >= 0
            acted = mine & (scored.probability >= cut.value)
            assert (cut.labels, cut.acted) == (mine.sum(), acted.sum())
            assert cut.wrong == (acted & ~scored.right).sum()
            assert cut.wrong / cut.acted <= 0.1


def test_a_tighter_target_never_acts_on_more() -> None:
    scored = drawn(8000, 2, seed=7)
    acted = [
        sum(c.acted for c in fit_cutoffs(scored, [0], parse_target(t), 0.1).values())
        for t in ("precision>=0.8", "precision>=0.95", "precision>=0.99")
    ]
    assert acted == sorted(acted, reverse=True)


def test_the_best_option_is_the_first_on_a_tie() -> None:
    scored = Scored.from_distributions([[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]], [1, 2])
    assert scored.best.tolist() == [0, 2]
    assert scored.right.tolist() == [False, True]


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("precision>=0.98", 0.02),
        (" error <= 1e-2 ", 0.01),
        ("cost(fp=50,fn=1)", 1 / 51),
        ("cost( fp = 1 , fn = 3 )", 0.75),
    ],
)
def test_targets_are_read_and_written(text: str, rate: float) -> None:
    target = parse_target(text)
    assert target.wrong_rate == pytest.approx(rate)
    assert parse_target(str(target)).wrong_rate == pytest.approx(rate)
    tighter = target.tighter()
    assert (tighter is None) == (target.aim == "cost")
    assert tighter is None or tighter.wrong_rate == pytest.approx(rate / 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("precision<=0.98", "is not known; write"),
        ("error>=0.1", "is not known; write"),
        ("recall>=0.5", "is not known; write"),
        ("", "is not known; write"),
        ("precision>=1", "precision is 1; it must lie between 0 and 1"),
        ("error<=0", "error is 0; it must lie between 0 and 1"),
        ("error<=0.1.2", "'0.1.2' is not a number"),
        ("cost(fp=0,fn=1)", "target.fp: is 0; it must be more than 0"),
        ("cost(fp=1,fn=-1)", "target.fn: is -1; it must be more than 0"),
        ("cost(fp=1)", "is not known; write"),
    ],
)
def test_bad_targets_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message.replace("(", r"\(")):
        parse_target(text)


def test_the_page_tells_how_many_labels_each_target_takes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "thresholds.md").read_text(encoding="utf-8")
    head, _, *rows = page[page.index("| acted on |") :].partition("\n\n")[0].splitlines()
    targets = [parse_target(found) for found in re.findall(r"`(error<=[0-9.]+)`", head)]
    assert len(rows) == 4
    assert len(targets) == 5
    for row in rows:
        questions, *told = map(int, re.findall(r"\d+", row))
        assert told == [least_labels(each.wrong_rate, 0.05 / questions) for each in targets]
