"""Any file of decisions: JSONL, compressed JSONL or Parquet rows with a known answer."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from thisthat.bench import scoring
from thisthat.bench.measure import Context, Findings, Measurement
from thisthat.suites.files import read_items
from thisthat.suites.item import Item

CAVEATS = (
    "Sources are unequal in difficulty and size; read the groups, not only the first line.",
    "`seen_task` questions come from tasks in the training file, `heldout_task` ones do not.",
)


def run(context: Context, path: Path) -> Findings:
    """Score a file. A bad row stops the run before anything is asked, with file and line."""
    items = context.quick(read_items(path))
    replies = context.ask(f"decisions-{path.name.partition('.')[0]}", items)
    groups = []
    keys = {
        "split": lambda item: item.split,
        "kind": lambda item: item.kind,
        "source": _source,
        "family": lambda item: item.family,
    }
    for by, key in keys.items():
        groups += scoring.grouped(items, replies, by, key)
    return Findings(
        [*scoring.score_lines(items, replies, "decisions"), *scoring.usage_lines(replies)],
        items,
        replies,
        groups,
        scoring.calibration_series(items, replies),
        scoring.rows_of(items, replies),
        CAVEATS,
    )


def _source(item: Item) -> str:
    return f"{item.source} ({item.split})"


def measurement_of(path: Path) -> Measurement:
    """The measurement of one file."""
    name = f"decisions-{path.name.partition('.')[0]}"
    return Measurement(name, f"Decisions of {path.name}", partial(run, path=path))
