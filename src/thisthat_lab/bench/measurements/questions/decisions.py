"""Any file of labels: rows that bring their questions, or answers to those of a schema."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from thisthat.items import metrics
from thisthat.items.files import read_items
from thisthat.items.item import Item
from thisthat.items.labels import labelled_items, refuse_answers
from thisthat.questions import Question
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings, Measurement, registered
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.systems.replies import Reply

DEV_FILES = ("decisions_dev.jsonl.zst", "decisions_dev.jsonl")
"""Names under which a data folder may hold the development file."""


def run(context: Context, path: Path, questions: Mapping[str, Question] | None = None) -> Findings:
    """Score a file. A bad row stops the run before anything is asked, with file and line."""
    if questions is None:
        refuse_answers(path)
    items = context.quick(
        read_items(path) if questions is None else labelled_items(path, questions)
    )
    replies = context.ask(f"decisions-{path.name.partition('.')[0]}", items)
    groups = scoring.grouped(items, replies, "split", lambda item: item.split)
    groups += scoring.grouped(items, replies, "kind", lambda item: item.kind)
    groups += scoring.grouped(items, replies, "source", lambda i: f"{i.source} ({i.split})")
    groups += scoring.grouped(items, replies, "family", lambda item: item.family)
    lines = scoring.score_lines(items, replies, "decisions")
    lines += _calibration_lines(items, replies)
    lines += ranking_lines(items, replies)
    lines += scoring.usage_lines(replies)
    return scoring.findings(lines, items, replies, groups)


def _calibration_lines(items: Sequence[Item], replies: Sequence[Reply]) -> list[Line]:
    """How far confidence is from being right, for every split and kind of question."""
    answered = [
        pair for pair in zip(items, replies, strict=True) if pair[1].probabilities is not None
    ]
    groups: dict[str, list[tuple[Item, Reply]]] = defaultdict(list)
    for item, reply in answered:
        groups[item.split].append((item, reply))
        groups[f"{item.split}, {item.kind}"].append((item, reply))
    lines: list[Line] = []
    for name, pairs in sorted(groups.items()):
        hits = scoring.hits_of([item for item, _ in pairs], [reply for _, reply in pairs])
        confidence = [reply.confidence for _, reply in pairs]
        error = metrics.expected_calibration_error(confidence, hits)
        lines.append(Line(f"ECE, 15 bins: {name} (n = {len(pairs)})", error, unit="score"))
    return lines


def ranking_lines(items: Sequence[Item], replies: Sequence[Reply]) -> list[Line]:
    """How well booleans are ranked whatever the cut, for every split: the mean over its sources."""
    ranked: dict[str, dict[str, list[tuple[float, bool]]]] = defaultdict(lambda: defaultdict(list))
    for item, reply in zip(items, replies, strict=True):
        if item.kind == "boolean" and reply.probabilities is not None:
            ranked[item.split][item.source].append((reply.probabilities[1], item.answer == 1))
    lines: list[Line] = []
    for split, sources in sorted(ranked.items()):
        areas = [_area(pairs) for pairs in sources.values() if len({yes for _, yes in pairs}) == 2]
        if areas:
            name = f"area under the curve, booleans: {split} (mean of {len(areas)} sources)"
            lines.append(Line(name, sum(areas) / len(areas), unit="score"))
    return lines


def _area(pairs: Sequence[tuple[float, bool]]) -> float:
    return metrics.area_under_curve([score for score, _ in pairs], [yes for _, yes in pairs])


def dev_file(folder: Path | None) -> Path | None:
    """The development file in a data folder, where there is one."""
    places = [folder / name for name in DEV_FILES] if folder else []
    return next((path for path in places if path.is_file()), None)


def measurement_of(path: Path, questions: Mapping[str, Question] | None = None) -> Measurement:
    """The measurement of one file."""
    return registered("decisions", partial(run, path=path, questions=questions), file=path.name)
