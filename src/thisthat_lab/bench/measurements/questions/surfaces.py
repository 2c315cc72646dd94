"""The same kind of window written as ASCII, as JSON and as prose.

The surface of each question was drawn at random within its family, so the comparison is a
randomised one.
"""

from __future__ import annotations

from thisthat.items import metrics
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.measurements.questions.spatial import spatial_items
from thisthat_lab.bench.result import Line

SURFACES = ("ascii", "json", "prose")


def run(context: Context) -> Findings:
    """Reuses the answers to the spatial benchmark where they were given in the same run."""
    everything = spatial_items(context)
    every_reply = context.ask("spatial", everything)
    items, replies = scoring.part(
        everything, every_reply, lambda item: item.facts.get("surface") in SURFACES
    )
    groups = scoring.grouped(items, replies, "surface", "surface", "surfaces")
    lines = [
        Line(group.name, group.accuracy, group.low, group.high, "wilson", anchor=group.anchor)
        for group in groups
    ]
    by_name = {group.name: group.accuracy for group in groups}
    spread = max(by_name.values()) - min(by_name.values())
    lines.append(Line("largest difference between surfaces", spread))
    lines.append(Line("chance", metrics.chance([len(item.options) for item in items])))
    groups += scoring.grouped(
        items,
        replies,
        "family and surface",
        lambda item: f"{item.family}, {item.facts.get('surface')}",
    )
    return Findings(lines, items, replies, groups)
