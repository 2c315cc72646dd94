"""Drift between fit and use: do the answers still look like those a policy was fitted on?

Two tests, each at half the level: the two-sample Kolmogorov-Smirnov test on how sure the best
option is, and Pearson's chi-squared test on which option is best. A guarantee holds for states
drawn like the labelled ones; a small p-value says that they no longer are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thisthat.decide.policy import ReferencePart

LEVEL = 0.01
LEAST_ROWS = 50
_TERMS = 100
_LEAST_EXPECTED = 5.0


class DriftWarning(UserWarning):
    """Decisions no longer look like the ones their policy was fitted on."""


@dataclass(frozen=True, slots=True)
class DriftTest:
    """One test's outcome; ``drifted`` at the level it was run at."""

    question: str
    test: str
    statistic: float
    p_value: float
    rows: int
    drifted: bool

    def __str__(self) -> str:
        said = "drift" if self.drifted else "no drift"
        return (
            f"{self.question}: {said} since the policy was fitted ({self.test}, statistic "
            f"{self.statistic:.4g}, p-value {self.p_value:.3g}, {self.rows} decisions)"
        )


def drift_tests(
    question: str,
    reference: ReferencePart,
    best: Sequence[str],
    sure: Sequence[float],
    level: float = LEVEL,
) -> list[DriftTest]:
    """Both tests on one question's decisions; none with fewer than 50 decisions."""
    if len(best) < LEAST_ROWS or len(reference.sure) < LEAST_ROWS:
        return []
    found = [("Kolmogorov-Smirnov test", *kolmogorov_smirnov(reference.sure, sure))]
    counted = chi_squared(reference.best, Counter(best))
    if counted is not None:
        found.append(("chi-squared test", *counted))
    return [
        DriftTest(question, name, statistic, p, len(best), p < level / 2)
        for name, statistic, p in found
    ]


def kolmogorov_smirnov(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """The two-sample statistic and its asymptotic p-value (Smirnov 1939)."""
    a, b = np.sort(np.asarray(one)), np.sort(np.asarray(other))
    both = np.concatenate([a, b])
    below_a = np.searchsorted(a, both, "right") / len(a)
    below_b = np.searchsorted(b, both, "right") / len(b)
    statistic = float(np.abs(below_a - below_b).max())
    scaled = statistic * math.sqrt(len(a) * len(b) / (len(a) + len(b)))
    if scaled < 0.2:
        return statistic, 1.0  # the series below converges slowly there; the limit is 1
    terms = ((-1) ** (k - 1) * math.exp(-2 * (k * scaled) ** 2) for k in range(1, _TERMS + 1))
    return statistic, min(1.0, max(0.0, 2 * math.fsum(terms)))


def chi_squared(one: Mapping[str, int], other: Mapping[str, int]) -> tuple[float, float] | None:
    """Pearson's statistic for "both counts come from one distribution", and its p-value.

    Options expected fewer than five times on either side are pooled; None when that leaves a
    single group.
    """
    totals = sum(one.values()), sum(other.values())
    share = min(totals) / sum(totals)
    groups: list[tuple[float, float]] = []
    rare = (0.0, 0.0)
    for name in sorted({*one, *other}):
        pair = (float(one.get(name, 0)), float(other.get(name, 0)))
        if sum(pair) * share >= _LEAST_EXPECTED:
            groups.append(pair)
        else:
            rare = (rare[0] + pair[0], rare[1] + pair[1])
    if sum(rare) * share >= _LEAST_EXPECTED or (rare != (0.0, 0.0) and not groups):
        groups.append(rare)
    elif rare != (0.0, 0.0):
        groups[0] = (groups[0][0] + rare[0], groups[0][1] + rare[1])
    if len(groups) < 2:
        return None
    table = np.array(groups)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return statistic, chi_squared_tail(statistic, len(groups) - 1)


def chi_squared_tail(statistic: float, degrees: int) -> float:
    """P(X >= statistic) for a chi-squared X with whole degrees of freedom, in closed form."""
    half = statistic / 2
    if half <= 0:
        return 1.0
    if degrees % 2:
        tail = math.erfc(math.sqrt(half))
        powers = [i + 0.5 for i in range((degrees - 1) // 2)]
    else:
        tail = 0.0
        powers = [float(i) for i in range(degrees // 2)]
    terms = (math.exp(p * math.log(half) - half - math.lgamma(p + 1)) for p in powers)
    return min(1.0, tail + math.fsum(terms))
