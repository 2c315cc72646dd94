"""The context ladder: the same four questions about the same worlds, whole map against window.

A rung that does not fit (too long for the checkpoint, too large for the memory) is a result.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from thisthat.bench import metrics, scoring
from thisthat.bench.measure import Context, Findings, Measurement
from thisthat.bench.replies import Reply
from thisthat.bench.result import Group, Line
from thisthat.bench.systems import EngineSystem
from thisthat.errors import DeviceMemoryError, InvalidInputError
from thisthat.suites.item import Item

SIDES = (32, 50, 80, 128, 200)
WORLDS, QUICK_WORLDS = 24, 15
TIMED_STATES = 5
ARMS = {"window": "the part that matters", "whole": "the whole map"}
CAVEATS = (
    "Accuracy is over questions asked: a rung that does not fit counts as unanswered, hence wrong.",
    "Time is one call with four questions about one state, median of a few; where a rung does not "
    "fit there is none.",
)


def run(context: Context) -> Findings:
    """Ask both arms of every rung and time a few states of each."""
    from thisthat.suites.spatial.simulator import ladder_items

    worlds = QUICK_WORLDS if context.setting.quick else WORLDS
    items = ladder_items(SIDES, worlds, context.setting.seed)
    replies = context.ask("ladder", items)
    points: list[dict[str, Any]] = []
    groups: list[Group] = []
    lines: list[Line] = []
    with context.progress("ladder, timing", len(SIDES) * len(ARMS)) as advance:
        for side in SIDES:
            for arm, words in ARMS.items():
                part = [
                    (item, reply)
                    for item, reply in zip(items, replies, strict=True)
                    if item.facts["size"] == side and item.facts["arm"] == arm
                ]
                point = _rung(context, side, arm, part)
                points.append(point)
                lines.append(
                    Line(
                        f"side {side}, {words}",
                        point["accuracy"],
                        point["low"],
                        point["high"],
                        "wilson",
                    )
                )
                advance(1)
    for arm, words in ARMS.items():
        groups += scoring.grouped(
            items, replies, f"side, {words}", partial(_side_of, arm), order=int
        )
    return Findings(
        lines,
        items,
        replies,
        groups,
        {"ladder": points},
        scoring.rows_of(items, replies),
        CAVEATS,
    )


def _side_of(arm: str, item: Item) -> int | None:
    side: int = item.facts["size"]
    return side if item.facts["arm"] == arm else None


def _rung(context: Context, side: int, arm: str, part: list[tuple[Item, Reply]]) -> dict[str, Any]:
    asked, said = [item for item, _ in part], [reply for _, reply in part]
    right = int(scoring.hits_of(asked, said).sum())
    interval = metrics.wilson(right, len(asked))
    return {
        "side": side,
        "arm": arm,
        "accuracy": interval.value,
        "low": interval.low,
        "high": interval.high,
        "unanswered": sum(reply.chosen is None for reply in said) / len(said),
        "milliseconds": _milliseconds(context, asked, said),
    }


def _milliseconds(context: Context, items: list[Item], replies: list[Reply]) -> float | None:
    """The median time of one state with all its questions; None where it does not fit."""
    if any(reply.chosen is None for reply in replies):
        return None
    seconds = [reply.seconds for reply in replies if reply.seconds is not None]
    system = context.system
    if not isinstance(system, EngineSystem):
        return float(np.median(seconds)) * 1000 if seconds else None
    by_state: dict[str, list[Item]] = {}
    for item in items:
        by_state.setdefault(item.state_hash, []).append(item)
    timed = []
    for group in list(by_state.values())[:TIMED_STATES]:
        questions = {str(number): item.as_question() for number, item in enumerate(group)}
        before = time.perf_counter()
        try:
            system.decider.decide(group[0].state, questions)
        except (InvalidInputError, DeviceMemoryError):
            return None
        timed.append(time.perf_counter() - before)
    return round(float(np.median(timed)) * 1000, 3)


MEASUREMENT = Measurement("ladder", "Context ladder", run)
