"""Items and replies into headline lines, groups and series: what most measurements share."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

import numpy as np

from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Group, Line
from thisthat_lab.bench.systems.replies import Reply

_CURVE_POINTS = 50
UNOBSERVED = (
    "This system gives no probabilities for its answers, so no calibration can be reported."
)


def accuracy_line(
    items: Sequence[Item], replies: Sequence[Reply], anchor: str | None, label: str = "accuracy"
) -> Line:
    """Accuracy over all questions asked; the interval draws whole states where they repeat."""
    hits = hits_of(items, replies)
    states = [item.state_hash for item in items]
    if len(set(states)) == len(states):
        return Line.of(label, metrics.wilson(int(hits.sum()), len(items)), anchor)
    return Line.of(label, metrics.bootstrap_mean(hits, states), anchor)


def hits_of(items: Sequence[Item], replies: Sequence[Reply]) -> metrics.Floats:
    """1 for a right answer, 0 for a wrong one and for none."""
    chosen = [reply.choice for reply in replies]
    return metrics.right(chosen, [item.answer for item in items]).astype(float)


def score_lines(
    items: Sequence[Item], replies: Sequence[Reply], name: str, *, bernoulli: bool = False
) -> list[Line]:
    """The headline lines of a set of questions; ``name`` opens the anchors' keys.

    Scoring rules and calibration are over the questions that have a distribution; when some have
    none the label says how many do. ``bernoulli`` takes the Brier score on p(yes) alone.
    """
    lines = [accuracy_line(items, replies, f"{name}.accuracy")]
    floor = metrics.chance([len(item.options) for item in items])
    lines.append(Line("chance", floor, anchor=f"{name}.chance"))
    given = [
        (item, reply.probabilities, reply)
        for item, reply in zip(items, replies, strict=True)
        if reply.probabilities is not None
    ]
    if not given:
        return lines
    suffix = "" if len(given) == len(items) else f" ({len(given)} of {len(items)} questions)"
    answers = [item.answer for item, _, _ in given]
    table = [p for _, p, _ in given]
    states = [item.state_hash for item, _, _ in given]
    squares = metrics.brier_terms(table, answers) / (2 if bernoulli else 1)
    lines.append(
        Line.of(
            ("Brier, on p(yes)" if bernoulli else "Brier, over all options") + suffix,
            metrics.bootstrap_mean(squares, states),
            f"{name}.brier",
            "score",
        )
    )
    lines.append(
        Line.of(
            "negative log likelihood" + suffix,
            metrics.bootstrap_mean(metrics.log_terms(table, answers), states),
            f"{name}.nll",
            "score",
        )
    )
    confidence = [reply.confidence for _, _, reply in given]
    hits = hits_of([item for item, _, _ in given], [reply for _, _, reply in given])
    binned = metrics.expected_calibration_error(confidence, hits)
    smooth = metrics.smooth_calibration_error(confidence, hits)
    lines.append(Line("ECE, 15 bins" + suffix, binned, unit="score"))
    lines.append(Line("smooth ECE, no bins" + suffix, smooth, unit="score"))
    every = [reply.confidence for reply in replies]
    all_hits = hits_of(items, replies)
    lines.append(Line("AURC", metrics.area_under_risk_coverage(every, all_hits), unit="score"))
    lines.append(
        Line("accuracy at 80 % coverage", metrics.accuracy_at_coverage(every, all_hits, 0.8))
    )
    return lines


def grouped(
    items: Sequence[Item],
    replies: Sequence[Reply],
    by: str,
    key: str | Callable[[Item], Hashable | None],
    anchor: str | None = None,
    order: Callable[[Any], Any] = str,
) -> list[Group]:
    """Counts per value of ``key``, a function or the name of a fact that the generator left.

    Questions where it is None are left out of the grouping.
    """
    members: dict[Hashable, list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        value = item.facts.get(key) if isinstance(key, str) else key(item)
        if value is not None:
            members[value].append(number)
    return [
        _group(items, replies, by, str(value), members[value], anchor)
        for value in sorted(members, key=order)
    ]


def _group(
    items: Sequence[Item],
    replies: Sequence[Reply],
    by: str,
    name: str,
    numbers: Sequence[int],
    anchor: str | None,
) -> Group:
    part, said = [items[n] for n in numbers], [replies[n] for n in numbers]
    hits = int(hits_of(part, said).sum())
    interval = metrics.wilson(hits, len(part))
    return Group(
        by=by,
        name=name,
        questions=len(part),
        right=hits,
        unanswered=sum(reply.chosen is None for reply in said),
        low=interval.low,
        high=interval.high,
        chance=metrics.chance([len(item.options) for item in part]),
        anchor=f"{anchor}.{name}" if anchor else None,
    )


def part(
    items: Sequence[Item], replies: Sequence[Reply], belongs: Callable[[Item], bool]
) -> tuple[list[Item], list[Reply]]:
    """The questions that belong to a part, and their replies."""
    pairs = [pair for pair in zip(items, replies, strict=True) if belongs(pair[0])]
    return [item for item, _ in pairs], [reply for _, reply in pairs]


def spread_over_families(items: Sequence[Item], most: int) -> list[Item]:
    """At most that many items, families in turn, in the order given within each."""
    queues: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        queues[item.family].append(item)
    turns = (list(each) for each in zip_longest(*queues.values()))
    return [item for turn in turns for item in turn if item is not None][:most]


def calibration_series(items: Sequence[Item], replies: Sequence[Reply]) -> dict[str, Any]:
    """What the reliability diagram and the risk-coverage curve are drawn from."""
    pairs = [(i, r) for i, r in zip(items, replies, strict=True) if r.probabilities is not None]
    if not pairs:
        return {}
    confidence = [reply.confidence for _, reply in pairs]
    hits = hits_of([item for item, _ in pairs], [reply for _, reply in pairs])
    curve = metrics.risk_coverage(confidence, hits)
    places = np.unique(np.linspace(0, curve.size - 1, _CURVE_POINTS).astype(int))
    return {
        "reliability": [
            {key: _short(value) for key, value in asdict(bar).items()}
            for bar in metrics.reliability(confidence, hits)
        ],
        "risk_coverage": [
            [_short((place + 1) / curve.size), _short(float(curve[place]))] for place in places
        ],
    }


def findings(
    lines: Sequence[Line],
    items: Sequence[Item],
    replies: Sequence[Reply],
    groups: Sequence[Group],
    headline: tuple[Sequence[Item], Sequence[Reply]] | None = None,
) -> Findings:
    """Findings with their rows, and the calibration of the headline questions (or of all)."""
    series = calibration_series(*(headline or (items, replies)))
    return Findings(lines, items, replies, groups, series, rows_of(items, replies))


def rows_of(items: Sequence[Item], replies: Sequence[Reply]) -> dict[str, Any]:
    """Per-question columns, short enough to keep in a result file."""
    families = sorted({item.family for item in items})
    number = {family: n for n, family in enumerate(families)}
    columns: dict[str, Any] = {
        "families": families,
        "family": [number[item.family] for item in items],
        "answer": [item.answer for item in items],
        "chosen": [reply.choice for reply in replies],
    }
    if any(reply.probabilities is not None for reply in replies):
        columns["right_probability"] = [
            None if reply.probabilities is None else _short(reply.probabilities[item.answer])
            for item, reply in zip(items, replies, strict=True)
        ]
    return columns


def bill_lines(context: Context, replies: Sequence[Reply]) -> list[Line]:
    """The columns of the paper's tables beside accuracy: no answer, tokens, latency, cost."""
    lines = usage_lines(replies)
    silent = sum(reply.chosen is None for reply in replies)
    lines.append(Line("questions without an answer", silent, unit="number"))
    priced = context.price_of(replies)
    if priced is not None:
        lines.append(Line("cost of this pass", priced[0], unit="dollars"))
    return lines


def tokens_point(items: Sequence[Item], replies: Sequence[Reply]) -> dict[str, float]:
    """Accuracy beside the tokens generated per question: a point of the report's plot."""
    written = sum(reply.output_tokens for reply in replies) / len(replies)
    return {"tokens": written, "accuracy": _short(float(hits_of(items, replies).mean()))}


def usage_lines(replies: Sequence[Reply]) -> list[Line]:
    """Latency and tokens of a system that was asked one question at a time."""
    seconds = [reply.seconds for reply in replies if reply.seconds is not None]
    lines = []
    if seconds:
        for share in (50, 90, 99):
            value = float(np.percentile(seconds, share)) * 1000
            lines.append(Line(f"latency at the client, p{share}", value, unit="ms"))
    if any(reply.output_tokens for reply in replies):
        mean = sum(reply.output_tokens for reply in replies) / len(replies)
        lines.append(Line("tokens generated per question", mean, unit="number"))
    return lines


def _short(value: float) -> float:
    return value if isinstance(value, int) or not math.isfinite(value) else round(value, 4)
