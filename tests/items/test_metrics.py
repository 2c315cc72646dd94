from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

from thisthat.errors import InvalidInputError
from thisthat.items import metrics

unit = st.floats(0, 1, allow_nan=False)


def distributions(count: int, options: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.dirichlet(np.ones(options), count), generator.integers(0, options, count)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 60), st.integers(2, 7), st.integers(0, 10**6))
def test_scores_agree_with_scikit_learn(count: int, options: int, seed: int) -> None:
    p, y = distributions(count, options, seed)
    labels = list(range(options))
    assert metrics.accuracy(p.argmax(1), y) == pytest.approx(accuracy_score(y, p.argmax(1)))
    assert metrics.negative_log_likelihood(list(p), list(y)) == pytest.approx(
        log_loss(y, p, labels=labels)
    )
    assert metrics.brier(list(p), list(y)) == pytest.approx(
        brier_score_loss(y, p, labels=labels, scale_by_half=False)
    )


def test_bernoulli_brier_is_half_of_the_form_over_all_options() -> None:
    p, y = distributions(50, 2, 1)
    assert 2 * metrics.bernoulli_brier(p[:, 1], y) == pytest.approx(metrics.brier(list(p), list(y)))


def test_log_score_of_a_certain_mistake_is_large_and_finite() -> None:
    assert 30 < metrics.negative_log_likelihood([[1.0, 0.0]], [1]) < 40


@settings(deadline=None)
@given(st.lists(st.integers(-1, 3), min_size=1, max_size=30))
def test_no_answer_is_never_right(chosen: list[int]) -> None:
    answers = [-1] * len(chosen)
    assert metrics.accuracy(chosen, answers) == 0


def test_accuracy_needs_equal_lengths() -> None:
    with pytest.raises(InvalidInputError, match="chosen"):
        metrics.accuracy([0, 1], [0])


@settings(deadline=None)
@given(st.lists(st.tuples(unit, st.booleans()), min_size=1, max_size=80), st.randoms())
def test_calibration_and_selection_do_not_depend_on_order(pairs, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = list(pairs)
    random.shuffle(shuffled)
    for function in (
        metrics.expected_calibration_error,
        metrics.area_under_risk_coverage,
        metrics.accuracy_at_coverage,
        lambda c, h: metrics.smooth_calibration_error(c, h, grid=101),
    ):
        one = function([c for c, _ in pairs], [h for _, h in pairs])
        two = function([c for c, _ in shuffled], [h for _, h in shuffled])
        assert one == pytest.approx(two, abs=1e-9)
        assert 0 <= one <= 1 + 1e-9


def test_expected_calibration_error_by_hand() -> None:
    # Two bins: (0.9, 0.9 | one right) and (0.55 | right).
    value = metrics.expected_calibration_error([0.9, 0.9, 0.55], [1, 0, 1], bins=10)
    assert value == pytest.approx((2 * 0.4 + 0.45) / 3)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.25])
def test_smooth_calibration_error_finds_a_constant_shift(shift: float) -> None:
    generator = np.random.default_rng(3)
    truth = generator.uniform(0.3, 0.7, 40_000)
    hits = generator.random(40_000) < truth
    value = metrics.smooth_calibration_error(truth + shift, hits)
    # The smoothing costs at most about one bandwidth, which equals the error itself.
    assert value == pytest.approx(shift, abs=0.03)


def test_smooth_calibration_error_moves_smoothly_where_bins_jump() -> None:
    hits = [1, 0] * 50
    edge = 8 / 15
    binned, smooth = [], []
    for nudge in (-1e-6, 1e-6):
        confidences = [edge + nudge] * 50 + [edge + 1e-4] * 50
        hits = [1] * 50 + [0] * 50
        binned.append(metrics.expected_calibration_error(confidences, hits))
        smooth.append(metrics.smooth_calibration_error(confidences, hits))
    assert abs(binned[0] - binned[1]) > 0.3
    assert abs(smooth[0] - smooth[1]) < 1e-4


def test_risk_coverage_by_hand() -> None:
    curve = metrics.risk_coverage([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 1])
    assert curve == pytest.approx([0, 1 / 2, 1 / 3, 1 / 4])
    assert metrics.area_under_risk_coverage([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 1]) == pytest.approx(
        np.mean([0, 1 / 2, 1 / 3, 1 / 4])
    )
    assert metrics.accuracy_at_coverage([0.9, 0.8, 0.7, 0.6, 0.5], [1, 1, 1, 0, 0]) == 0.75


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=40))
def test_equal_confidences_give_a_flat_curve(hits: list[bool]) -> None:
    curve = metrics.risk_coverage([0.5] * len(hits), hits)
    assert curve == pytest.approx([1 - np.mean(hits)] * len(hits))


@settings(deadline=None)
@given(st.lists(st.tuples(unit, unit), min_size=1, max_size=60), st.integers(0, 1000))
def test_decomposition_holds(pairs: list[tuple[float, float]], seed: int) -> None:
    p = np.array([a for a, _ in pairs])
    q = np.array([b for _, b in pairs])
    y = np.random.default_rng(seed).random(len(pairs)) < q
    found = metrics.decompose(p, q, y)
    assert found.gap < 1e-12
    assert found.expected == pytest.approx(found.distance + found.noise)
    both = [[1 - a, a] for a in p], [[1 - b, b] for b in q]
    assert metrics.q_terms(*both).mean() == pytest.approx(2 * found.distance)


def test_sampled_brier_lies_near_its_expectation() -> None:
    generator = np.random.default_rng(0)
    q = generator.uniform(0, 1, 20_000)
    p = np.clip(q + generator.normal(0, 0.1, q.size), 0, 1)
    found = metrics.decompose(p, q, generator.random(q.size) < q)
    assert abs(found.observed - found.expected) < 4 * found.standard_error


@settings(deadline=None)
@given(st.lists(st.tuples(unit, st.sampled_from([0.1, 0.3, 0.7, 0.9])), min_size=1, max_size=60))
def test_reading_more_never_costs(pairs: list[tuple[float, float]]) -> None:
    q, rho = [a for a, _ in pairs], [b for _, b in pairs]
    assert metrics.best_reader_q_distance(q, rho) <= metrics.constant_q_distance(q) + 1e-12
    assert metrics.best_reader_q_distance(q, list(range(len(q)))) == pytest.approx(0)
    assert 0.5 <= metrics.ceiling(q) <= 1


def test_wilson_known_values() -> None:
    # Newcombe 1998, table I: 81 of 263.
    found = metrics.wilson(81, 263)
    assert (round(found.low, 4), round(found.high, 4)) == (0.2553, 0.3662)
    assert metrics.wilson(0, 10).low == 0
    assert metrics.wilson(10, 10).high == 1
    assert math.isnan(metrics.wilson(0, 0).value)
    with pytest.raises(InvalidInputError):
        metrics.wilson(3, 2)


@settings(deadline=None)
@given(st.integers(0, 200), st.integers(1, 200))
def test_wilson_holds_its_share(successes: int, more: int) -> None:
    found = metrics.wilson(successes, successes + more)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_bootstrap_over_states_is_wider_when_states_repeat() -> None:
    generator = np.random.default_rng(0)
    states = np.repeat(np.arange(40), 10)
    values = np.repeat(generator.random(40) < 0.5, 10)
    alone = metrics.bootstrap_mean(values)
    grouped = metrics.bootstrap_mean(values, list(states))
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)
    assert grouped.value == alone.value == values.mean()
    assert metrics.bootstrap_mean(values, list(states)) == grouped


def test_bootstrap_mean_matches_the_normal_interval() -> None:
    values = np.random.default_rng(5).normal(2, 1, 900)
    found = metrics.bootstrap_mean(values)
    half = 1.96 * values.std() / 30
    assert found.low == pytest.approx(values.mean() - half, abs=0.015)
    assert found.high == pytest.approx(values.mean() + half, abs=0.015)


def test_paired_difference_cancels_what_is_shared() -> None:
    generator = np.random.default_rng(2)
    shared = generator.normal(0, 10, 500)
    found = metrics.paired_difference(shared + 1, shared)
    assert found.low == pytest.approx(1)
    assert found.high == pytest.approx(1)
    with pytest.raises(InvalidInputError, match="second"):
        metrics.paired_difference([1, 2], [1])


def test_bootstrap_statistic_of_a_mean_agrees() -> None:
    values = np.random.default_rng(5).normal(2, 1, 400)
    found = metrics.bootstrap_statistic(lambda rows: float(values[rows].mean()), values.size)
    assert found.value == pytest.approx(values.mean())
    assert found.low < found.value < found.high


answered = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


@settings(deadline=None)
@given(answered)
def test_confusion_and_balanced_accuracy_are_what_counting_gives(pairs: list) -> None:
    chosen, answers = zip(*pairs, strict=True)
    counts = metrics.confusion(chosen, answers, 4)
    for right in range(4):
        for said in range(4):
            assert counts[right, said] == pairs.count((said, right))
    shares = [
        sum(said == right == option for said, right in pairs) / answers.count(option)
        for option in set(answers)
    ]
    assert metrics.balanced_accuracy(chosen, answers) == pytest.approx(sum(shares) / len(shares))
    assert counts.trace() / counts.sum() == pytest.approx(metrics.accuracy(chosen, answers))


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.9]) | unit, st.booleans()), min_size=1))
def test_the_area_under_the_curve_is_the_share_of_ordered_pairs(pairs: list) -> None:
    scores, positives = zip(*pairs, strict=True)
    found = metrics.area_under_curve(scores, positives)
    beaten = [
        (high > low) + 0.5 * (high == low)
        for high, yes in pairs
        for low, other in pairs
        if yes and not other
    ]
    if not beaten:
        assert math.isnan(found)
        return
    assert found == pytest.approx(sum(beaten) / len(beaten))
    # The curve that is drawn has this area.
    curve = metrics.roc_curve(scores, positives)
    assert (curve[0], curve[-1]) == ((0.0, 0.0), (1.0, 1.0))
    steps = pairwise(curve)
    assert sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in steps) == pytest.approx(found)


@settings(deadline=None)
@given(st.lists(st.tuples(unit, st.booleans()), min_size=1, max_size=60), st.integers(1, 20))
def test_calibration_error_is_what_its_definition_gives(pairs: list, bins: int) -> None:
    total = 0.0
    for k in range(bins):
        inside = [
            (p, hit) for p, hit in pairs if k == min(max(math.ceil(p * bins) - 1, 0), bins - 1)
        ]
        total += abs(sum(p for p, _ in inside) - sum(hit for _, hit in inside))
    found = metrics.expected_calibration_error(*zip(*pairs, strict=True), bins)
    assert found == pytest.approx(total / len(pairs), abs=1e-12)


def test_bootstrap_statistic_draws_whole_groups_and_leaves_out_what_has_no_value() -> None:
    values, groups = np.arange(40.0), [number // 2 for number in range(40)]
    seen: list[np.ndarray] = []

    def statistic(rows: np.ndarray) -> float:
        seen.append(rows)
        return float(values[rows].mean())

    found = metrics.bootstrap_statistic(statistic, 40, groups, draws=50)
    assert found.method == "bootstrap over states"
    assert found.low < found.value == 19.5 < found.high
    for rows in seen[:-1]:
        counts = np.bincount(rows, minlength=40)
        assert (counts[::2] == counts[1::2]).all()
        assert counts.sum() == 40
    nothing = metrics.bootstrap_statistic(lambda rows: math.nan, 5, draws=10)
    assert math.isnan(nothing.low)
    some = metrics.bootstrap_statistic(lambda rows: math.nan if 0 in rows else 1.0, 5, draws=50)
    assert (some.low, some.high) == (1.0, 1.0)
