"""All metrics: numbers in, numbers out.

Conventions. ``chosen`` is an option index, or -1 (`UNANSWERED`) for no answer, which is never
right. ``probabilities`` are rows that sum to 1 over each question's own options, so rows may differ
in length. A confidence is the probability of the chosen option; an unanswered question ranks below
every confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thisthat.errors import InvalidInputError

UNANSWERED = -1
Floats = NDArray[np.float64]
SMALLEST = float(np.finfo(np.float64).eps)
_DRAWN_TOGETHER = 1 << 18


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the ends of its interval and how the interval was made."""

    value: float
    low: float
    high: float
    method: str

    def as_dict(self) -> dict[str, float | str]:
        """JSON-ready."""
        return asdict(self)


# Right and wrong ---------------------------------------------------------------------------------


def right(chosen: ArrayLike, answers: ArrayLike) -> NDArray[np.bool_]:
    """Which questions were answered correctly; an unanswered one was not."""
    picked, truth = np.asarray(chosen), np.asarray(answers)
    if picked.shape != truth.shape:
        raise InvalidInputError("chosen", f"{picked.size} given for {truth.size} answers")
    return np.asarray((picked == truth) & (picked != UNANSWERED))


def accuracy(chosen: ArrayLike, answers: ArrayLike) -> float:
    """The share of questions answered correctly, over all questions asked."""
    return _mean(right(chosen, answers))


def confusion(chosen: ArrayLike, answers: ArrayLike, options: int) -> NDArray[np.int64]:
    """How often each option (row) was answered with each option (column)."""
    counts = np.zeros((options, options), dtype=np.int64)
    np.add.at(counts, (np.asarray(answers, dtype=int), np.asarray(chosen, dtype=int)), 1)
    return counts


def balanced_accuracy(chosen: ArrayLike, answers: ArrayLike) -> float:
    """The mean, over the options that are right somewhere, of how often they were found."""
    truth = np.asarray(answers)
    hits = right(chosen, truth)
    return _mean([hits[truth == option].mean() for option in np.unique(truth)])


def area_under_curve(scores: ArrayLike, positives: ArrayLike) -> float:
    """How often a positive scores above a negative, ties as half: the area under the ROC curve.

    NaN without positives or without negatives.
    """
    score, positive = _array(scores), np.asarray(positives, dtype=bool)
    many, few = int(positive.sum()), int((~positive).sum())
    if not many or not few:
        return math.nan
    _, group, sizes = np.unique(score, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return float((ranks[positive].sum() - many * (many + 1) / 2) / (many * few))


def roc_curve(scores: ArrayLike, positives: ArrayLike) -> list[tuple[float, float]]:
    """Shares of negatives and of positives at or above each score, from (0, 0) to (1, 1)."""
    score, positive = _array(scores), np.asarray(positives, dtype=bool)
    _, group = np.unique(-score, return_inverse=True)
    above = np.cumsum([np.bincount(group, ~positive), np.bincount(group, positive)], axis=1)
    shares = above / above[:, -1:]
    return [(0.0, 0.0), *((float(x), float(y)) for x, y in shares.T)]


def chance(option_counts: ArrayLike) -> float:
    """The expected accuracy of picking uniformly among each question's options."""
    return _mean(1 / np.asarray(option_counts, dtype=float))


# Proper scoring rules ----------------------------------------------------------------------------


def bernoulli_brier(yes: ArrayLike, outcomes: ArrayLike) -> float:
    """Mean (p - y)^2 on the probability of yes, the form the paper's tables use."""
    return _mean((_array(yes) - _array(outcomes)) ** 2)


def brier(probabilities: Sequence[ArrayLike], answers: Sequence[int]) -> float:
    """Mean squared distance between the distribution and the answer's corner, over all options.

    For two options this is twice the Bernoulli form.
    """
    return _mean(brier_terms(probabilities, answers))


def brier_terms(probabilities: Sequence[ArrayLike], answers: Sequence[int]) -> Floats:
    """The Brier score of each question."""
    pairs = zip(map(_array, probabilities), answers, strict=True)
    return _array([float(p @ p - 2 * p[answer] + 1) for p, answer in pairs])


def negative_log_likelihood(probabilities: Sequence[ArrayLike], answers: Sequence[int]) -> float:
    """Mean -ln p(answer), with p clipped at the machine epsilon as scikit-learn does."""
    return _mean(log_terms(probabilities, answers))


def log_terms(probabilities: Sequence[ArrayLike], answers: Sequence[int]) -> Floats:
    """-ln p(answer) of each question."""
    given = [float(_array(row)[answer]) for row, answer in zip(probabilities, answers, strict=True)]
    return -np.log(np.clip(_array(given), SMALLEST, 1.0))


# Calibration -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bin:
    """One bar of a reliability diagram."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def reliability(confidences: ArrayLike, hits: ArrayLike, bins: int = 15) -> list[Bin]:
    """Equal-width bins over [0, 1] that hold at least one answer."""
    confidence, hit = _array(confidences), _array(hits)
    place = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    return [
        Bin(
            low=k / bins,
            high=(k + 1) / bins,
            count=int((place == k).sum()),
            confidence=float(confidence[place == k].mean()),
            accuracy=float(hit[place == k].mean()),
        )
        for k in range(bins)
        if (place == k).any()
    ]


def expected_calibration_error(confidences: ArrayLike, hits: ArrayLike, bins: int = 15) -> float:
    """Top-label ECE over equal-width bins (Naeini et al. 2015; Guo et al. 2017)."""
    parts = reliability(confidences, hits, bins)
    total = sum(part.count for part in parts)
    return math.fsum(part.count * abs(part.confidence - part.accuracy) for part in parts) / total


def smooth_calibration_error(confidences: ArrayLike, hits: ArrayLike, grid: int = 501) -> float:
    """Smooth ECE, which has no bins and no free parameter (Błasiok and Nakkiran 2023).

    The residuals hit - confidence are smoothed over the confidence axis with a Gaussian reflected
    at 0 and 1; the error is the integral of the absolute smoothed residual, at the one bandwidth
    that equals the error itself. ``grid`` points carry the integral; the result moves by at most
    about one grid step.
    """
    confidence, hit = _array(confidences), _array(hits)
    if confidence.size == 0:
        return math.nan
    position = confidence * (grid - 1)
    below = np.clip(np.floor(position).astype(int), 0, grid - 2)
    share = position - below
    residual = (hit - confidence) / confidence.size
    mass = np.bincount(below, residual * (1 - share), minlength=grid)
    mass += np.bincount(below + 1, residual * share, minlength=grid)
    axis = np.linspace(0, 1, grid)
    weights = np.full(grid, 1 / (grid - 1))
    weights[[0, -1]] /= 2
    carrying = np.flatnonzero(mass)

    def error_at(width: float) -> float:
        centres = axis[carrying]
        smooth = np.zeros(grid)
        reach = max(1, math.ceil(4 * width / 2))
        for period in range(-reach, reach + 1):
            for mirrored in (2 * period + centres, 2 * period - centres):
                distance = (axis[:, None] - mirrored[None, :]) / width
                smooth += np.exp(-0.5 * distance**2) @ mass[carrying]
        smooth /= width * math.sqrt(2 * math.pi)
        return float(np.abs(smooth) @ weights)

    narrow, wide = 2 / (grid - 1), 1.0
    if error_at(narrow) <= narrow:
        return error_at(narrow)
    for _ in range(14):
        middle = (narrow + wide) / 2
        narrow, wide = (middle, wide) if error_at(middle) > middle else (narrow, middle)
    return error_at((narrow + wide) / 2)


# Answering only when sure ------------------------------------------------------------------------


def risk_coverage(confidences: ArrayLike, hits: ArrayLike) -> Floats:
    """The error rate among the k most confident answers, for k = 1 to n.

    Equal confidences have no order of their own: each of them counts with the mean of their group,
    so the curve does not depend on the order of the questions.
    """
    confidence, hit = _array(confidences), _array(hits)
    order = np.argsort(-confidence, kind="stable")
    confidence, wrong = confidence[order], 1 - hit[order]
    _, group, sizes = np.unique(-confidence, return_inverse=True, return_counts=True)
    shared = (np.bincount(group, wrong) / sizes)[group]
    return np.asarray(np.cumsum(shared) / np.arange(1, confidence.size + 1))


def area_under_risk_coverage(confidences: ArrayLike, hits: ArrayLike) -> float:
    """AURC: the mean of the risk-coverage curve (Geifman and El-Yaniv 2017); lower is better."""
    return _mean(risk_coverage(confidences, hits))


def accuracy_at_coverage(confidences: ArrayLike, hits: ArrayLike, coverage: float = 0.8) -> float:
    """Accuracy over the most confident share of the questions, rounded up to a whole question."""
    curve = risk_coverage(confidences, hits)
    if curve.size == 0:
        return math.nan
    return float(1 - curve[max(1, math.ceil(coverage * curve.size - 1e-9)) - 1])


# Against a known distribution --------------------------------------------------------------------


def q_terms(probabilities: Sequence[ArrayLike], truths: Sequence[ArrayLike]) -> Floats:
    """||p - q||^2 of each question; q is the computed distribution, the mean is qL2."""
    pairs = zip(probabilities, truths, strict=True)
    return _array([float(((_array(p) - _array(q)) ** 2).sum()) for p, q in pairs])


def ceiling(yes_rates: ArrayLike) -> float:
    """E[max(q, 1 - q)]: the accuracy that no predictor can exceed on labels drawn from q."""
    q = _array(yes_rates)
    return _mean(np.maximum(q, 1 - q))


def constant_q_distance(yes_rates: ArrayLike) -> float:
    """qL2 of the constant predictor p = E[q], the best constant on these very questions."""
    q = _array(yes_rates)
    return _mean(2 * (q - q.mean()) ** 2)


def best_reader_q_distance(yes_rates: ArrayLike, readings: Sequence[Hashable]) -> float:
    """qL2 of the best predictor that sees only ``readings`` (for instance ρ): p = E[q | reading].

    The means are taken on the evaluated questions themselves, which favours this predictor.
    """
    q = _array(yes_rates)
    _, group = np.unique([str(reading) for reading in readings], return_inverse=True)
    means = np.bincount(group, q) / np.bincount(group)
    return _mean(2 * (q - means[group]) ** 2)


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Checks E_Y[(p - Y)^2] = (p - q)^2 + q(1 - q) numerically.

    ``gap`` is the largest difference between the two sides over the questions; anything but
    rounding error means the arithmetic is wrong. ``observed`` is the Brier score on the sampled
    labels, which must lie within a few ``standard_error`` of ``expected``.
    """

    distance: float
    noise: float
    expected: float
    observed: float
    standard_error: float
    gap: float


def decompose(yes: ArrayLike, yes_rates: ArrayLike, outcomes: ArrayLike) -> Decomposition:
    """Both sides of the decomposition for Bernoulli questions, and the sampled score."""
    p, q, y = _array(yes), _array(yes_rates), _array(outcomes)
    enumerated = q * (1 - p) ** 2 + (1 - q) * p**2
    distance, noise = (p - q) ** 2, q * (1 - q)
    spread = q * (1 - q) * (1 - 2 * p) ** 2
    return Decomposition(
        distance=_mean(distance),
        noise=_mean(noise),
        expected=_mean(enumerated),
        observed=bernoulli_brier(p, y),
        standard_error=float(np.sqrt(spread.sum()) / max(1, p.size)),
        gap=float(np.abs(enumerated - distance - noise).max(initial=0.0)),
    )


# Intervals ---------------------------------------------------------------------------------------


def wilson(successes: int, trials: int, level: float = 0.95) -> Interval:
    """The Wilson score interval of a share; it treats the trials as independent."""
    if not 0 <= successes <= trials:
        raise InvalidInputError("successes", f"is {successes} of {trials} trials")
    if trials == 0:
        return Interval(math.nan, 0.0, 1.0, "wilson")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / trials
    scale = 1 + z * z / trials
    middle = (share + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Interval(share, low, high, "wilson")


def bootstrap_mean(
    values: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """The percentile bootstrap interval of a mean; whole ``groups`` are drawn when given.

    Questions about one state are not independent: give the state as the group.
    """
    terms = _array(values)
    if terms.size == 0:
        return Interval(math.nan, math.nan, math.nan, "bootstrap")
    sums, sizes = _by_group(terms, groups)
    generator = np.random.default_rng(seed)
    means = np.empty(draws)
    together = max(1, _DRAWN_TOGETHER // sums.size)
    for first in range(0, draws, together):
        some = min(together, draws - first)
        picked = generator.integers(0, sums.size, (some, sums.size))
        means[first : first + some] = sums[picked].sum(axis=1) / sizes[picked].sum(axis=1)
    edge = (1 - level) / 2
    low, high = np.quantile(means, [edge, 1 - edge])
    method = "bootstrap" if groups is None else "bootstrap over states"
    return Interval(float(terms.mean()), float(low), float(high), method)


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Interval:
    """The interval of mean(first - second) on the same questions in the same order."""
    one, two = _array(first), _array(second)
    if one.shape != two.shape:
        raise InvalidInputError("second", f"has {two.size} questions, the first has {one.size}")
    return bootstrap_mean(one - two, groups, level=level, draws=draws, seed=seed)


def bootstrap_statistic(
    statistic: Callable[[NDArray[np.intp]], float],
    count: int,
    groups: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    draws: int = 300,
    seed: int = 0,
) -> Interval:
    """The percentile bootstrap interval of any statistic of the questions' indices.

    Whole ``groups`` are drawn when given; draws without a value are left out.
    """
    generator = np.random.default_rng(seed)
    everything = np.arange(count)
    place = everything if groups is None else _places(groups)
    order = np.argsort(place, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(place[order])) + 1)
    drawn = (generator.integers(0, len(members), len(members)) for _ in range(draws))
    if len(members) < count:
        drawn = (np.concatenate([members[k] for k in picked]) for picked in drawn)
    values = [statistic(rows) for rows in drawn]
    edge = (1 - level) / 2
    known = [value for value in values if not math.isnan(value)]
    low, high = np.quantile(known, [edge, 1 - edge]) if known else (math.nan, math.nan)
    method = "bootstrap" if groups is None else "bootstrap over states"
    return Interval(statistic(everything), float(low), float(high), method)


def _by_group(terms: Floats, groups: Sequence[Hashable] | None) -> tuple[Floats, Floats]:
    if groups is None:
        return terms, np.ones(terms.size)
    if len(groups) != terms.size:
        raise InvalidInputError("groups", f"{len(groups)} given for {terms.size} values")
    place = _places(groups)
    return _array(np.bincount(place, terms)), _array(np.bincount(place))


def _places(groups: Sequence[Hashable]) -> NDArray[np.intp]:
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(group, len(number)) for group in groups], dtype=np.intp)


def _array(values: ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _mean(values: ArrayLike) -> float:
    terms = _array(values)
    return float(terms.mean()) if terms.size else math.nan
