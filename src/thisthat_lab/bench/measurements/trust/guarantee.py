"""Do fitted thresholds keep their targets, and how much do they leave unused?

The branch suite's questions are asked once. Then cut-offs are fitted on random parts of the
answers, as `thisthat threshold fit` does, and judged against the answers they were drawn from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from thisthat.calibrate.fit_policy import CONFIDENCE
from thisthat.calibrate.threshold import Scored
from thisthat.decide.target import parse_target
from thisthat.errors import InvalidInputError
from thisthat.items import metrics
from thisthat.items.item import KINDS, Item
from thisthat.questions import Kind
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings, Measurement, registered
from thisthat_lab.bench.result import Bar, Line
from thisthat_lab.bench.splits import Tally, over_splits
from thisthat_lab.bench.systems.replies import Reply

PER_FAMILY, QUICK_PER_FAMILY = 400, 66
LABELS = (500, 2000)
SPLITS = 200
TARGETS = ("precision>=0.9", "error<=0.1", "cost(fp=10,fn=1)")
MOST_SHORT = 0.03
_NO, _YES = 0, 1


@dataclass(frozen=True)
class LabelPlan:
    """How labels are taken: how many, how often, and at which confidence."""

    labels: Sequence[int] = LABELS
    splits: int = SPLITS
    per_family: int | None = None
    confidence: float = CONFIDENCE

    def __post_init__(self) -> None:
        for name, values in (
            ("labels", self.labels),
            ("splits", [self.splits]),
            ("per_family", [] if self.per_family is None else [self.per_family]),
        ):
            if any(value < 1 for value in values):
                raise InvalidInputError(name, f"is {min(values)}; it must be 1 or more")
        if not 0 < self.confidence < 1:
            raise InvalidInputError(
                "confidence", f"is {self.confidence:g}; it must lie between 0 and 1"
            )


@dataclass(frozen=True)
class _Row:
    """One target of one pool, fitted on so many labels."""

    kind: str
    target: str
    labels: int
    rows: int
    tally: Tally

    @property
    def short(self) -> float:
        return self.tally.best - self.tally.coverage

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "target": self.target,
            "labels": self.labels,
            "rows": self.rows,
            **asdict(self.tally),
        }


def run(context: Context, plan: LabelPlan) -> Findings:
    """Ask once, then fit every target on every split. Raises InvalidInputError without a pool."""
    items = guarantee_items(context, plan.per_family)
    replies = context.ask("guarantee", items)
    pools = {kind: _pool(items, replies, kind) for kind in KINDS}
    left_out: list[str] = []
    rows = list(_rows(context, pools, plan, left_out))
    if not rows:
        raise InvalidInputError(
            "labels", f"no pool has twice {min(plan.labels)} rows; ask more questions per family"
        )
    delta = 1 - plan.confidence
    lines = [scoring.accuracy_line(items, replies, None, "accuracy")]
    bars: list[Bar] = []
    for labels in sorted({row.labels for row in rows}):
        mine = [row for row in rows if row.labels == labels]
        worst = max(mine, key=lambda row: row.tally.missed)
        on_left = max(mine, key=lambda row: row.tally.missed_left)
        wide = [row for row in mine if row.tally.saved is None]
        shortest = max(wide, key=lambda row: row.short)
        told = f"{labels} labels, worst target"
        missed = metrics.wilson(worst.tally.missed, worst.tally.splits)
        lines += [
            Line.of(f"{told}: splits that miss it", missed),
            Line.of(
                f"{told}: splits that miss it on the rows left over",
                metrics.wilson(on_left.tally.missed_left, on_left.tally.splits),
            ),
            Line(f"{told}: coverage short of the best possible", shortest.short),
        ]
        bars += [
            Bar(f"{told}: splits that miss it", missed.value, round(delta, 12), False, "share"),
            Bar(f"{told}: short of the best coverage", shortest.short, MOST_SHORT, False, "share"),
        ]
    caveats = [
        f"{plan.splits} splits, confidence {plan.confidence:g}: at most {delta:.3g} of the splits "
        "may miss a target.",
        *left_out,
    ]
    return Findings(
        lines,
        items,
        replies,
        scoring.grouped(items, replies, "kind", lambda item: item.kind),
        {"splits": [row.as_dict() for row in rows]},
        caveats=caveats,
        bars=bars,
    )


def guarantee_items(context: Context, per_family: int | None) -> list[Item]:
    """The branch families' evaluation items, more of each than `bench branch` asks."""
    from thisthat_lab.suites import branch

    count = per_family or (QUICK_PER_FAMILY if context.setting.quick else PER_FAMILY)
    return branch.evaluation_items(count, context.seed)


def measurement_of(plan: LabelPlan) -> Measurement:
    """The measurement for one plan."""
    return registered("guarantee", partial(run, plan=plan))


def _pool(items: Sequence[Item], replies: Sequence[Reply], kind: str) -> Scored:
    """The answered questions of one kind, with what their options have in common."""
    best, sure, label = [], [], []
    for item, reply in zip(items, replies, strict=True):
        if item.kind != kind or reply.chosen is None or reply.probabilities is None:
            continue
        sure.append(reply.confidence)
        right = reply.chosen == item.answer
        best.append(reply.chosen if kind == "boolean" else 0)
        label.append(item.answer if kind == "boolean" else int(not right))
    return Scored(np.array(best, np.int64), np.array(sure), np.array(label, np.int64))


def _rows(
    context: Context, pools: Mapping[Kind, Scored], plan: LabelPlan, left_out: list[str]
) -> Iterator[_Row]:
    sizes = {
        (kind, labels): len(pool.best) >= 2 * labels
        for kind, pool in pools.items()
        for labels in plan.labels
    }
    left_out += [
        f"{kind} questions: {len(pools[kind].best)} rows are too few to take {labels} labels from."
        for (kind, labels), enough in sizes.items()
        if not enough
    ]
    wanted = [
        (kind, labels, target)
        for (kind, labels), enough in sizes.items()
        for target in (TARGETS if kind == "boolean" else TARGETS[1:])
        if enough
    ]
    with context.progress("splits", len(wanted)) as advance:
        for kind, labels, target in wanted:
            parsed = parse_target(target)
            options = [_NO]
            if kind == "boolean":
                options = [_YES] if parsed.aim == "cost" else [_NO, _YES]
            tally = over_splits(
                pools[kind],
                options,
                parsed,
                1 - plan.confidence,
                labels,
                plan.splits,
                context.seed,
            )
            yield _Row(kind, target, labels, len(pools[kind].best), tally)
            advance(1)
