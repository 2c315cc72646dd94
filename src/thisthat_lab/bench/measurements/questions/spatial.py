"""The spatial benchmark: fifteen families of questions about mazes and snakes."""

from __future__ import annotations

from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.result import Line


def spatial_items(context: Context) -> list[Item]:
    """The released set, or its quick subset."""
    from thisthat_lab.suites.spatial.released import read_released

    return context.once("spatial items", lambda: context.quick(read_released()))


def run(context: Context) -> Findings:
    """Ask the released set."""
    from thisthat_lab.suites.spatial.registry import SEARCH_FAMILIES

    items = spatial_items(context)
    replies = context.ask("spatial", items)
    lines = scoring.score_lines(items, replies, "spatial")
    groups = scoring.grouped(items, replies, "family", lambda item: item.family, "spatial.family")
    search = [group for group in groups if group.name in SEARCH_FAMILIES]
    others = [group for group in groups if group.name not in SEARCH_FAMILIES]
    mean = sum(group.accuracy for group in search) / len(search)
    lines.append(Line("search families, mean of three", mean, anchor="spatial.search"))
    lowest = min(others, key=lambda group: group.accuracy)
    lines.append(Line(f"lowest other family ({lowest.name})", lowest.accuracy))
    lines += scoring.usage_lines(replies)

    def map_side(item: Item) -> int | None:
        side: int = item.facts["size"]
        return side if item.family in SEARCH_FAMILIES else None

    groups += scoring.grouped(items, replies, "map side of search families", map_side, order=int)
    groups += scoring.grouped(items, replies, "surface", "surface")
    groups += scoring.grouped(items, replies, "topology", "topology")
    return scoring.findings(lines, items, replies, groups)
