"""A picture of a run: loss and held-out accuracy over tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def plot_metrics(metrics: Path, picture: Path, say: Callable[[str], None]) -> None:
    """Draw the run into ``picture``; says so and draws nothing where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        say("no plot: matplotlib is not installed")
        return
    rows: list[dict[str, Any]] = [
        json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()
    ]
    training = [row for row in rows if row["event"] == "train"]
    if not training:
        return
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1)
    above.plot([row["tokens"] for row in training], [row["loss"] for row in training])
    above.set_ylabel("training loss")
    below.plot(
        [row["step"] for row in training], [row["accuracy"] for row in training], label="training"
    )
    for name in sorted({row["name"] for row in rows if row["event"] == "evaluation"}):
        mine = [row for row in rows if row["event"] == "evaluation" and row["name"] == name]
        below.plot(
            [row["step"] for row in mine], [row["accuracy"] for row in mine], "o-", label=name
        )
    below.set_xlabel("step")
    below.set_ylabel("accuracy")
    below.legend()
    figure.savefig(picture, dpi=100)
