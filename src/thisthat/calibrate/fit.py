"""Fitting temperatures: one number per question type, and a rule in the number of options.

A temperature is chosen by the likelihood of held-out answers (Guo et al. 2017, "On calibration of
modern neural networks"). It never changes which option is best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from thisthat.errors import InvalidInputError
from thisthat.items.metrics import expected_calibration_error, negative_log_likelihood
from thisthat.questions import Kind
from thisthat.temperature import OptionsRule, Temperatures, softmax

LEAST_ROWS = 200
COLDEST, HOTTEST = 0.05, 20.0
# Option counts that are fitted together: a rule in ln n needs several of these groups.
COUNT_GROUPS = ((2, 2), (3, 4), (5, 8), (9, 16), (17, 64), (65, 255))
_STEPS = 60


@dataclass(frozen=True, slots=True)
class Labelled:
    """Logits over one question's options (before any temperature) and the right answer."""

    kind: Kind
    logits: NDArray[np.floating]
    answer: int


@dataclass(frozen=True, slots=True)
class GroupFit:
    """What a temperature (the mean, under a rule) does to one group of held-out rows."""

    name: str
    rows: int
    temperature: float
    nll_before: float
    nll_after: float
    ece_before: float
    ece_after: float


def fit_temperature(rows: Sequence[Labelled]) -> float:
    """The temperature in [0.05, 20] at which the answers are likeliest.

    The likelihood is concave in 1/T, so its slope has one zero, found by halving.
    """
    usable = _by_options(row for row in rows if len(row.logits) > 1)
    if not usable:
        return 1.0
    low, high = 1 / HOTTEST, 1 / COLDEST
    for _ in range(_STEPS):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if _slope(usable, middle) > 0 else (low, middle)
    return float((low * high) ** -0.5)


_Stack: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int64]]


def _by_options(rows: Iterable[Labelled]) -> list[_Stack]:
    """Logits and answers of the rows, stacked by number of options."""
    stacks: dict[int, list[Labelled]] = {}
    for row in rows:
        stacks.setdefault(len(row.logits), []).append(row)
    return [
        (np.array([row.logits for row in each], np.float64), np.array([row.answer for row in each]))
        for each in stacks.values()
    ]


def _slope(stacks: Sequence[_Stack], coldness: float) -> float:
    """The derivative of the log-likelihood with respect to 1/T."""
    total = 0.0
    for logits, answers in stacks:
        weights = np.exp(coldness * (logits - logits.max(axis=1, keepdims=True)))
        means = (weights * logits).sum(axis=1) / weights.sum(axis=1)
        total += float((logits[np.arange(len(answers)), answers] - means).sum())
    return total


def fit_temperatures(
    rows: Sequence[Labelled], least_rows: int = LEAST_ROWS
) -> tuple[Temperatures, list[GroupFit]]:
    """Temperatures for the question types among the rows, and their effect group by group.

    Choices get a rule T = a + b ln n when at least two groups of option counts have ``least_rows``
    each and the rule fits better than one number. Raises InvalidInputError for a question type with
    fewer rows.
    """
    kinds = sorted({row.kind for row in rows})
    if not kinds:
        raise InvalidInputError("rows", f"none given; at least {least_rows} are needed")
    by_kind: dict[Kind, float] = {}
    for kind in kinds:
        mine = [row for row in rows if row.kind == kind]
        if len(mine) < least_rows:
            raise InvalidInputError(
                f"rows.{kind}",
                f"{len(mine)} given; a temperature needs at least {least_rows} held-out rows",
            )
        by_kind[kind] = fit_temperature(mine)
    choices = [row for row in rows if row.kind == "choice"]
    rule = _fit_rule(choices, by_kind["choice"], least_rows) if choices else None
    if rule is not None:
        del by_kind["choice"]  # a number for the type would override the rule
    fitted = Temperatures(by_kind=by_kind, by_options=rule)
    return fitted, [_judge(kind, [r for r in rows if r.kind == kind], fitted) for kind in kinds]


def _fit_rule(choices: Sequence[Labelled], single: float, least_rows: int) -> OptionsRule | None:
    points: list[tuple[float, float, int]] = []
    for low, high in COUNT_GROUPS:
        group = [row for row in choices if low <= len(row.logits) <= high]
        if len(group) >= least_rows:
            mean_log = float(np.mean([np.log(len(row.logits)) for row in group]))
            points.append((mean_log, fit_temperature(group), len(group)))
    if len(points) < 2:
        return None
    logs, temperatures, counts = (np.array(column) for column in zip(*points, strict=True))
    b, a = np.polyfit(logs, temperatures, 1, w=np.sqrt(counts))
    rule = OptionsRule(float(a), float(b), float(temperatures.min()))
    with_rule = Temperatures(by_options=rule)
    without = Temperatures(by_kind={"choice": single})
    better = _nll(choices, with_rule) < _nll(choices, without)
    return rule if better else None


def _heat(row: Labelled, temperatures: Temperatures) -> float:
    return temperatures.of(row.kind, len(row.logits), "state-first")


def _probabilities(
    rows: Sequence[Labelled], temperatures: Temperatures
) -> list[NDArray[np.float64]]:
    return [softmax(row.logits, _heat(row, temperatures)) for row in rows]


def _nll(rows: Sequence[Labelled], temperatures: Temperatures) -> float:
    answers = [row.answer for row in rows]
    return negative_log_likelihood(_probabilities(rows, temperatures), answers)


def _judge(name: str, rows: Sequence[Labelled], fitted: Temperatures) -> GroupFit:
    plain = Temperatures()
    return GroupFit(
        name=name,
        rows=len(rows),
        temperature=float(np.mean([_heat(row, fitted) for row in rows])),
        nll_before=_nll(rows, plain),
        nll_after=_nll(rows, fitted),
        ece_before=calibration_error(rows, plain),
        ece_after=calibration_error(rows, fitted),
    )


def calibration_error(rows: Sequence[Labelled], temperatures: Temperatures) -> float:
    """Top-label expected calibration error at these temperatures."""
    probabilities = _probabilities(rows, temperatures)
    hits = [int(p.argmax()) == row.answer for p, row in zip(probabilities, rows, strict=True)]
    return expected_calibration_error([float(p.max()) for p in probabilities], hits)
