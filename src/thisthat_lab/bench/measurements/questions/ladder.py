"""The context ladder: the same four questions about the same worlds, whole map against window.

A rung that does not fit (too long for the checkpoint, too large for the memory) is a result.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.measurements.questions.actuator import simulated
from thisthat_lab.bench.result import Group, Line
from thisthat_lab.bench.systems.opening import EngineSystem, OneAtATime
from thisthat_lab.bench.systems.replies import Reply

WORLDS_PER_SIDE, QUICK_WORLDS_PER_SIDE = 12, 2
ARMS = {"window": "the part that matters", "whole": "the whole map"}


def run(context: Context) -> Findings:
    """Ask both arms of every rung, our engines one state at a time."""
    sets = simulated(context)
    items = sets.context_ladder(QUICK_WORLDS_PER_SIDE if context.setting.quick else WORLDS_PER_SIDE)
    system = context.system
    asked = OneAtATime(system) if isinstance(system, EngineSystem) else system
    replies = context.ask("ladder", items, asked)
    points: list[dict[str, Any]] = []
    groups: list[Group] = []
    lines: list[Line] = []
    for side in sorted({item.facts["size"] for item in items}):
        for arm, words in ARMS.items():
            place = {"size": side, "arm": arm}
            part = scoring.part(items, replies, lambda item: place.items() <= item.facts.items())  # noqa: B023
            point = _rung(side, arm, *part)
            points.append(point)
            label = f"side {side}, {words}"
            if point["unanswered"]:
                label += f" ({point['unanswered']:.0%} unanswered)"
            ends = point["low"], point["high"]
            lines.append(Line(label, point["accuracy"], *ends, "wilson"))
    for arm, words in ARMS.items():
        groups += scoring.grouped(
            items, replies, f"side, {words}", partial(_side_of, arm), order=int
        )
    lines += scoring.bill_lines(context, replies)
    rows = scoring.rows_of(items, replies)
    return Findings(lines, items, replies, groups, {"ladder": points}, rows, sets.caveats)


def _side_of(arm: str, item: Item) -> int | None:
    side: int = item.facts["size"]
    return side if item.facts["arm"] == arm else None


def _rung(side: int, arm: str, asked: list[Item], said: list[Reply]) -> dict[str, Any]:
    right = int(scoring.hits_of(asked, said).sum())
    interval = metrics.wilson(right, len(asked))
    return {
        "side": side,
        "arm": arm,
        "accuracy": interval.value,
        "low": interval.low,
        "high": interval.high,
        "unanswered": sum(reply.chosen is None for reply in said) / len(said),
        "milliseconds": _milliseconds(said),
    }


def _milliseconds(replies: list[Reply]) -> float | None:
    """The median time of one state with its questions; None where some did not fit."""
    if any(reply.chosen is None for reply in replies):
        return None
    seconds = [reply.seconds for reply in replies if reply.seconds is not None]
    return round(float(np.median(seconds)) * 1000, 3) if seconds else None
