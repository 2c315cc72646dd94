from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.calibrate.scores import drawn
from thisthat.calibrate.threshold import Cutoff, Scored
from thisthat.decide.target import Target, parse_target
from thisthat_lab.bench import splits
from thisthat_lab.bench.splits import best_cutoffs, misses, over_splits


def scored(*rows: tuple[int, float, int]) -> Scored:
    best, sure, label = zip(*rows, strict=True)
    return Scored(np.array(best), np.array(sure), np.array(label))


@pytest.mark.parametrize("target", ["precision>=0.95", "error<=0.05", "cost(fp=10,fn=1)"])
def test_guarantees_hold_in_the_pool(target: str) -> None:
    pool = drawn(4000, 2, seed=11)
    tally = over_splits(pool, [0, 1], parse_target(target), 0.1, 600, 200, seed=3)
    assert tally.splits == 200
    assert tally.missed <= 0.1 * 200
    assert tally.missed_left >= tally.by_chance >= tally.missed_left - tally.missed
    assert 0.5 < tally.coverage <= tally.best
    assert (tally.saved is None) is (not target.startswith("cost"))
    assert tally.saved is None or 0.9 < tally.saved < 1


def test_a_fit_that_hopes_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def hopeful(rows: Scored, options: Sequence[int], target: Target, _: float) -> dict[int, float]:
        return best_cutoffs(rows, options, target)

    monkeypatch.setattr(splits, "fit_cutoffs", lambda *given: _as_cutoffs(hopeful(*given)))
    pool = drawn(4000, 2, seed=11)
    tally = over_splits(pool, [0, 1], parse_target("error<=0.05"), 0.1, 600, 200, seed=3)
    assert tally.missed > 0.3 * 200


def test_labels_and_rows_left_over_are_the_pool_and_share_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = drawn(400, 2, seed=12)
    assert len(set(pool.probability.tolist())) > 300
    fitted: list[list[float]] = []
    judged: list[list[float]] = []

    def fit(rows: Scored, options: Sequence[int], *_: object) -> dict[int, Cutoff]:
        fitted.append(rows.probability.tolist())
        return _as_cutoffs(dict.fromkeys(options, math.inf))

    def judge(rows: Scored, *_: object) -> bool:
        judged.append(rows.probability.tolist())
        return False

    monkeypatch.setattr(splits, "fit_cutoffs", fit)
    monkeypatch.setattr(splits, "misses", judge)
    tally = over_splits(pool, [0, 1], parse_target("error<=0.05"), 0.1, 150, 5, seed=1)
    everything = sorted(pool.probability.tolist())
    for labels, whole, left in zip(fitted, judged[::2], judged[1::2], strict=True):
        assert len(labels) == 150
        assert sorted(whole) == sorted(labels + left) == everything
    assert len({tuple(labels) for labels in fitted}) == 5
    assert (tally.refused, tally.coverage) == (0, 0.0)


def test_what_misses_a_target() -> None:
    rows = scored((0, 0.9, 0), (0, 0.8, 1), (1, 0.9, 1), (1, 0.7, 1), (1, 0.6, 0))
    assert misses(rows, {0: 0.5, 1: 0.65}, parse_target("precision>=0.9"))
    assert not misses(rows, {0: 0.85, 1: 0.65}, parse_target("precision>=0.9"))
    assert not misses(rows, {0: 0.5, 1: 0.65}, parse_target("error<=0.25"))
    assert misses(rows, {0: 0.5, 1: 0.65}, parse_target("error<=0.24"))
    assert not misses(rows, {0: math.inf, 1: math.inf}, parse_target("error<=0.01"))


@pytest.mark.parametrize("target", ["precision>=0.8", "error<=0.2", "cost(fp=3,fn=1)"])
def test_the_best_cutoffs_are_those_of_brute_force(target: str) -> None:
    wanted = parse_target(target)
    for seed in range(20):
        random = np.random.default_rng(seed)
        rows = Scored(
            random.integers(0, 2, 40), random.integers(5, 10, 40) / 10, random.integers(0, 2, 40)
        )
        found = best_cutoffs(rows, [0, 1], wanted)
        cuts = [0.5, 0.6, 0.7, 0.8, 0.9, math.inf]
        pairs = [(a, a) if wanted.aim == "error" else (a, b) for a in cuts for b in cuts]

        def worth(pair: tuple[float, float], rows: Scored = rows) -> float:
            acted = rows.probability >= np.array(pair)[rows.best]
            wrong = int((acted & ~rows.right).sum())
            if wanted.fp is not None and wanted.fn is not None:
                return wanted.fn * (int(acted.sum()) - wrong) - wanted.fp * wrong
            kept = not misses(rows, dict(enumerate(pair)), wanted)
            return float(acted.sum()) if kept else -1.0

        assert worth((found[0], found[1])) == max(map(worth, pairs))


def _as_cutoffs(cuts: dict[int, float]) -> dict[int, Cutoff]:
    return {option: Cutoff(cut, 1, 1, 0, 1, 1) for option, cut in cuts.items()}
