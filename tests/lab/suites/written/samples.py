"""Two small written tasks that share a state."""

from __future__ import annotations

from typing import Any


def late(**changes: Any) -> dict[str, Any]:
    """A boolean task of twenty states, the first two a pair."""
    states: list[list[Any]] = [
        [f"Parcel {n} is {'late' if n % 2 else 'on time'}.", n % 2] for n in range(20)
    ]
    states[0].append("a")
    states[1].append("a")
    row = {
        "task": "parcel_late",
        "domain": "logistics",
        "kind": "boolean",
        "split": "train",
        "questions": ["Is it late?", "Late?", "Has it been delayed?", "Did it miss its time?"],
        "negated": ["Is it on time?"],
        "options": [["no", "it is on time"], ["yes", "it is late"]],
        "states": states,
    }
    return row | changes


def number(**changes: Any) -> dict[str, Any]:
    """A choice about the same states."""
    row = {
        "task": "parcel_number",
        "domain": "logistics",
        "kind": "choice",
        "split": "train",
        "questions": ["Which half?", "Low or high?", "What half is it?", "Name the half."],
        "options": [["low", "below ten"], ["high", "ten or more"]],
        "states": [[state[0], int(n >= 10)] for n, state in enumerate(late()["states"])],
    }
    return row | changes


def how_late(**changes: Any) -> dict[str, Any]:
    """A score with a rule that every state is read with."""
    row = {
        "task": "how_late",
        "domain": "rules",
        "kind": "score",
        "split": "train",
        "questions": ["How late?", "What delay?", "Which delay is it?", "Say how late."],
        "options": [["none", None], ["some", None], ["much", None]],
        "context": "One hour is some delay, one day is much.",
        "states": [
            [{"hours": n}, 0 if n == 0 else 1 + (n >= 24)]
            for n in (*[0], *range(1, 24, 2), *range(24, 60, 4))
        ],
    }
    row["states"] += [[f"arrived to the minute, run {n}", 0] for n in range(6)]
    return row | changes
