"""The guarantee is real: over 200 random splits the target is missed in at most delta of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.calibrate.scores import drawn, noisy_oracle, suite_items
from thisthat.calibrate.target import Target, parse_target
from thisthat.calibrate.threshold import Scored, fit_cutoffs

SPLITS = 200
DELTA = 0.1


def part(scored: Scored, rows: object) -> Scored:
    return Scored(scored.best[rows], scored.probability[rows], scored.label[rows])  # type: ignore[index]


def groups(scored: Scored, options: Sequence[int], target: Target) -> list[np.ndarray]:  # type: ignore[type-arg]
    if target.aim == "error":
        return [np.isin(scored.best, options)]
    return [scored.best == option for option in options]


def best_coverage(scored: Scored, options: Sequence[int], target: Target) -> float:
    """By brute force over every cut-off, knowing all labels: the most that can be acted on."""
    acted = 0
    for group in groups(scored, options, target):
        order = np.argsort(-scored.probability[group])
        wrong = np.cumsum(~scored.right[group][order]) / np.arange(1, group.sum() + 1)
        kept = np.nonzero(wrong <= target.wrong_rate)[0]
        acted += int(kept[-1]) + 1 if len(kept) else 0
    return acted / len(scored.best)


def measure(
    scored: Scored, options: Sequence[int], target: Target, labels: int
) -> tuple[float, float]:
    """(share of splits in which the target is missed, mean coverage) on all rows."""
    random = np.random.default_rng(7)
    missed, coverage = 0, []
    for _ in range(SPLITS):
        rows = random.permutation(len(scored.best))[:labels]
        fitted = fit_cutoffs(part(scored, rows), options, target, DELTA)
        cuts = np.array([math.inf if (v := fitted[o].value) is None else v for o in options])
        acted = scored.probability >= cuts[scored.best]
        rates = [
            (~scored.right[acted & group]).mean()
            for group in groups(scored, options, target)
            if (acted & group).any()
        ]
        missed += any(rate > target.wrong_rate for rate in rates)
        coverage.append(acted.mean())
    return missed / SPLITS, float(np.mean(coverage))


@pytest.mark.parametrize(
    ("target", "labels"),
    [
        ("error<=0.05", 300),
        ("error<=0.05", 6000),
        ("precision>=0.95", 600),
        ("precision>=0.95", 20_000),
    ],
)
def test_synthetic_scores(target: str, labels: int) -> None:
    scored, wanted = drawn(60_000, 3, seed=1), parse_target(target)
    missed, coverage = measure(scored, [0, 1, 2], wanted, labels)
    assert missed <= DELTA
    if labels >= 6000:
        assert coverage >= best_coverage(scored, [0, 1, 2], wanted) - 0.03


def test_acting_pays_where_a_cost_target_says_so() -> None:
    """More than fn / (fp + fn) wrong among the acted on is where not acting would be cheaper."""
    scored, target = drawn(60_000, 2, seed=2), parse_target("cost(fp=10,fn=1)")
    missed, _ = measure(scored, [0, 1], target, 2000)
    assert missed <= DELTA
    fitted = fit_cutoffs(scored, [0, 1], target, DELTA)
    for option in (0, 1):
        mine = part(scored, scored.best == option)

        def cost(cut: float, mine: Scored = mine) -> float:
            acted = mine.probability >= cut
            return float(10 * (acted & ~mine.right).sum() + (mine.right & ~acted).sum())

        cheapest = min(cost(cut) for cut in np.quantile(mine.probability, np.linspace(0, 1, 300)))
        value = fitted[option].value
        assert value is not None
        assert cost(value) <= 1.05 * cheapest


@pytest.mark.parametrize(
    ("family", "target"),
    [
        ("refund", "precision>=0.95"),
        ("deploy_gate", "precision>=0.95"),
        ("deploy_gate", "error<=0.03"),
        ("shipping", "error<=0.03"),
    ],
)
def test_scores_of_suite_items(family: str, target: str) -> None:
    items = suite_items(family, 500)
    # The scorer is asked about every item several times, each time with other noise.
    answers = [noisy_oracle(items, seed) for seed in range(16)]
    scored = Scored.from_distributions(
        [p for each, _ in answers for p in each], [label for _, each in answers for label in each]
    )
    options = list(range(len(items[0].options)))
    missed, coverage = measure(scored, options, parse_target(target), 4000)
    assert missed <= DELTA
    assert coverage >= best_coverage(scored, options, parse_target(target)) - 0.03


def test_a_scorer_whose_surest_answers_are_the_wrong_ones_is_not_trusted() -> None:
    """No assumption about scores: here the error falls as the score falls."""
    random = np.random.default_rng(3)
    sure = random.random(40_000)
    right = random.random(40_000) > 0.15 * sure
    scored = Scored(np.zeros(40_000, np.int64), sure, np.where(right, 0, 1))
    missed, _ = measure(scored, [0], parse_target("error<=0.08"), 1500)
    assert missed <= DELTA
