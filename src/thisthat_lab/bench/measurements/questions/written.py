"""Written tasks that no training saw: eight whole domains, and one task in ten elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from thisthat.errors import InvalidInputError
from thisthat.items import metrics
from thisthat.items.item import KINDS, Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Line
from thisthat_lab.bench.systems.replies import Reply
from thisthat_lab.suites.written import held_out_items, read_tasks

FOLDER = "branches"
"""The folder of written tasks inside a data folder."""


def tasks_folder(data: Path | None) -> Path:
    """The written tasks of a data folder. Raises InvalidInputError where there are none."""
    folder = None if data is None else data / FOLDER
    if folder is None or not folder.is_dir():
        raise InvalidInputError("--data", f"must name a folder that holds {FOLDER}/")
    return folder


def written_items(context: Context) -> list[Item]:
    """Every state of the held-out tasks. Raises InvalidInputError where there are none."""
    folder = tasks_folder(context.setting.data)
    return context.once("written", lambda: held_out_items(read_tasks(folder)))


def run(context: Context) -> Findings:
    """Ask every state of the held-out tasks."""
    items = context.quick(written_items(context))
    replies = context.ask("written", items)
    lines = scoring.score_lines(items, replies, "written")
    for kind in KINDS:
        part = scoring.part(items, replies, lambda item: item.kind == kind)  # noqa: B023
        if part[0]:
            lines.append(scoring.accuracy_line(*part, None, f"accuracy, {kind}"))
    whole = _whole_pairs(items, replies)
    if whole:
        right = metrics.wilson(sum(whole), len(whole))
        lines.append(Line.of(f"pairs right, of {len(whole)}", right))
    groups = scoring.grouped(items, replies, "kind", lambda item: item.kind)
    groups += scoring.grouped(items, replies, "domain", "domain")
    groups += scoring.grouped(items, replies, "task", lambda item: item.family)
    lines += scoring.usage_lines(replies)
    return scoring.findings(lines, items, replies, groups)


def _whole_pairs(items: Sequence[Item], replies: Sequence[Reply]) -> list[bool]:
    """Of every pair that was asked whole, whether all of it is right."""
    hits = scoring.hits_of(items, replies)
    pairs: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for item, hit in zip(items, hits, strict=True):
        if "pair" in item.facts:
            pairs[item.family, item.facts["pair"]].append(bool(hit))
    return [all(found) for found in pairs.values() if len(found) > 1]
