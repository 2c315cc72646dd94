"""The loop at a glance: decisions and outcomes over time, reliability, what is tried, history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from thisthat.audit.protocol import Store
from thisthat.items.metrics import reliability
from thisthat.loop.joined import COUNTS, JoinedView
from thisthat.loop.judge import Judge, reward_of
from thisthat.loop.registry import Registry, Version, verdict_told

PARTS = ("question", "slice", "time")
"""Of an evaluation, as ``evaluate`` names them."""
_PERIODS = 24
_BINS = 10


def summary(
    registry: Registry,
    store: Store,
    mature_after: float,
    now: float,
    judges: Mapping[str, Judge] | None = None,
) -> dict[str, Any]:
    """Everything that the page and the report show, JSON-ready. Raises LogError.

    ``judges`` are those that know the running experiments already; others read the log anew.
    """
    held = registry.now()
    running = []
    for name, tried in held.running.items():
        judge = (judges or {}).get(name)
        if judge is None:
            judge = Judge(store, tried)
            judge.update()
        running.append({**asdict(tried), "numbers": judge.numbers(), "points": judge.points})
    champion = held.champions[-1] if held.champions else None
    return {
        "now": now,
        "champion": None if champion is None else asdict(champion),
        "before": asdict(held.champions[-2]) if len(held.champions) > 1 else None,
        "candidate": held.candidate,
        "running": running,
        "evaluations": [row for version in held.versions.values() for row in _evaluated(version)],
        **_decisions(store, mature_after, now),
        "history": [{**asdict(event), "told": event.told} for event in registry.history()],
    }


def _evaluated(version: Version) -> Iterator[dict[str, Any]]:
    """The latest evaluation of a version by paired replay: as a whole, then in its parts."""
    if not version.evaluations:
        return
    found = version.evaluations[-1]
    if found.get("replay") is not None:
        yield {"version": version.name, "part": verdict_told(found), **found["replay"]}
    for kind in PARTS:
        for name, numbers in found.get(kind, {}).items():
            yield {"version": version.name, "part": f"{kind} {name}", **numbers}


def _decisions(store: Store, mature_after: float, now: float) -> dict[str, Any]:
    view = JoinedView(store, mature_after, now)
    rows: list[tuple[float, str, float, float | None]] = []
    for each in view.decisions():
        entry = each.entry
        value = each.option if each.option is not None else each.reward
        reward = None if value is None else reward_of(entry.best, entry, value)
        sure = entry.sure if each.option is not None else -1.0
        rows.append((entry.time, entry.question, sure, reward))
    judged = [(sure, reward) for _, _, sure, reward in rows if reward is not None and sure >= 0]
    bins = reliability([one for one, _ in judged], [hit for _, hit in judged], _BINS)
    by_question: dict[str, list[float | None]] = {}
    for _, question, _, reward in rows:
        by_question.setdefault(question, []).append(reward)
    return {
        "counts": {name: view.counts[name] for name in COUNTS},
        "periods": _periods(rows, now) if rows else [],
        "reliability": [asdict(each) for each in bins] if judged else [],
        "questions": {
            name: {"decisions": len(some), **_mean(some)}
            for name, some in sorted(by_question.items())
        },
    }


def _periods(
    rows: Sequence[tuple[float, str, float, float | None]], now: float
) -> list[dict[str, Any]]:
    """Decisions, outcomes and their mean reward in periods of equal length up to now."""
    first = min(row[0] for row in rows)
    length = max((now - first) / _PERIODS, 1e-9)
    sorted_out: list[list[float | None]] = [[] for _ in range(_PERIODS)]
    for at, _, _, reward in rows:
        sorted_out[min(int((at - first) / length), _PERIODS - 1)].append(reward)
    return [
        {"from": first + number * length, "decisions": len(some), **_mean(some)}
        for number, some in enumerate(sorted_out)
    ]


def _mean(rewards: Sequence[float | None]) -> dict[str, Any]:
    known = [each for each in rewards if each is not None]
    return {"outcomes": len(known), "reward": sum(known) / len(known) if known else None}
