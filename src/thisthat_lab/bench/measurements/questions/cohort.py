"""The recorded cohort: 68 questions a hosted service answered on record, with its probabilities.

The rows are evaluation data of a third party and are not part of the package; they are read from
a folder the caller names.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from thisthat.errors import InvalidInputError
from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.systems.replies import Reply, from_probabilities

FILE = "recorded_68.jsonl"
PUBLISHED_TEMPERATURE = 1.3


def read_cohort(path: Path) -> list[Item]:
    """The cohort's items. Raises InvalidInputError with file and line for a bad row."""
    if not path.is_file():
        raise InvalidInputError(
            "data", f"{path} is not there; name the folder that holds {FILE} with --data"
        )
    with path.open(encoding="utf-8") as file:
        return [
            _item(line, f"{path}, line {number}")
            for number, line in enumerate(file, start=1)
            if line.strip()
        ]


def _item(line: str, where: str) -> Item:
    try:
        row: dict[str, Any] = json.loads(line)
        options = [text.partition(": ") for text in row["options"]]
        recorded = float(row["recorded_service_p_yes"])
        plain = {
            "source": "recorded_68",
            "family": "recorded_cohort",
            "kind": "boolean",
            "state": row["state"],
            "question": row["question"],
            "options": [[name, text or None] for name, _, text in options],
            "answer": row["answer_index"],
            "split": "evaluation",
            "facts": {"recorded": recorded},
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInputError(where, f"is no row of the cohort: {error!r}") from None
    return Item.from_dict(plain, where)


def recorded_replies(items: list[Item]) -> list[Reply]:
    """What the recorded service answered."""
    yes = [float(item.facts["recorded"]) for item in items]
    return [from_probabilities((1 - p, p)) for p in yes]


def cohort_items(context: Context) -> list[Item]:
    """The cohort from the setting's data folder."""
    if context.setting.data is None:
        raise InvalidInputError("data", f"name the folder that holds {FILE} with --data")
    return read_cohort(context.setting.data / FILE)


def run(context: Context) -> Findings:
    """Ask the cohort and score it as the paper's table does."""
    items = cohort_items(context)
    replies = context.ask("cohort", items)
    caveats = []
    if context.published:
        replies = [reply.at_temperature(PUBLISHED_TEMPERATURE) for reply in replies]
        caveats.append(
            f"Probabilities at temperature {PUBLISHED_TEMPERATURE:g}, as in the published script "
            "for this cohort; its other measurements, and every other one here, use 1."
        )
    lines = scoring.score_lines(items, replies, "cohort", bernoulli=True)
    recorded = recorded_replies(items)
    service = [
        replace(line, label=f"the recorded service itself: {line.label}", anchor=None)
        for line in scoring.score_lines(items, recorded, "cohort", bernoulli=True)
        if line.anchor in ("cohort.accuracy", "cohort.brier", "cohort.nll")
    ]
    hits = scoring.hits_of(items, replies)
    difference = metrics.paired_difference(
        hits, scoring.hits_of(items, recorded), [item.state_hash for item in items]
    )
    majority = max(sum(item.answer == side for item in items) for side in (0, 1)) / len(items)
    lines += [
        *service,
        Line.of("accuracy minus the recorded service's, paired", difference),
        Line("majority answer", majority),
        *scoring.bill_lines(context, replies),
    ]
    groups = scoring.grouped(items, replies, "answer", lambda item: item.options[item.answer][0])
    return replace(scoring.findings(lines, items, replies, groups), caveats=caveats)
