"""The spatial benchmark: fifteen families of questions about mazes and snakes.

Asks the released set of this package, or the paper's own public file, whole or as the subset that
the paper's hosted systems answered: the first 150 questions of every family.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from thisthat.errors import InvalidInputError
from thisthat.items.files import read_items
from thisthat.items.item import Item, render_state
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings, Measurement, registered
from thisthat_lab.bench.result import Line

SUBSET = 150
"""Questions of a family in the paper's table of hosted systems: 2,250 in all."""
_SURFACES = {"{": "json", "The agent stands at row": "prose", "Agent coordinate:": "ascii"}


def spatial_items(context: Context) -> list[Item]:
    """The released set, or its quick subset."""
    from thisthat_lab.suites.spatial.released import read_released

    return context.once("spatial items", lambda: context.quick(read_released()))


def first_of_each(items: Iterable[Item], per_family: int) -> list[Item]:
    """The first ``per_family`` items of every family, in the order given."""
    taken: Counter[str] = Counter()
    kept = []
    for item in items:
        taken[item.family] += 1
        if taken[item.family] <= per_family:
            kept.append(item)
    return kept


def surface_of(item: Item) -> str | None:
    """How the state is written: as the generator says, else by how its text begins."""
    text = render_state(item.state)
    begun = (name for start, name in _SURFACES.items() if text.startswith(start))
    return item.facts.get("surface") or next(begun, None)


def run(context: Context, path: Path | None = None, per_family: int | None = None) -> Findings:
    """Ask the released set, or a file of the same families."""
    from thisthat_lab.suites.spatial.registry import SEARCH_FAMILIES, SEEN_FAMILIES

    items = spatial_items(context) if path is None else context.quick(read_items(path))
    items = items if per_family is None else first_of_each(items, per_family)
    if not {item.family for item in items} >= {*SEARCH_FAMILIES, *SEEN_FAMILIES}:
        raise InvalidInputError(str(path), "does not have the families of the spatial benchmark")
    replies = context.ask("spatial", items)
    name = "spatial.subset" if per_family == SUBSET else "spatial"
    lines = scoring.score_lines(items, replies, name)
    for column in ("seen", "unseen"):
        part = scoring.part(
            items,
            replies,
            lambda i: (i.family in SEEN_FAMILIES) == (column == "seen"),  # noqa: B023
        )
        lines.append(scoring.accuracy_line(*part, f"{name}.{column}", f"{column} families"))
    groups = scoring.grouped(items, replies, "family", lambda item: item.family, "spatial.family")
    search = [group for group in groups if group.name in SEARCH_FAMILIES]
    others = [group for group in groups if group.name not in SEARCH_FAMILIES]
    mean = sum(group.accuracy for group in search) / len(search)
    lines.append(Line("search families, mean of three", mean, anchor="spatial.search"))
    lowest = min(others, key=lambda group: group.accuracy)
    lines.append(Line(f"lowest other family ({lowest.name})", lowest.accuracy))
    lines += scoring.bill_lines(context, replies)

    def map_side(item: Item) -> int | None:
        return item.facts.get("size") if item.family in SEARCH_FAMILIES else None

    groups += scoring.grouped(items, replies, "map side of search families", map_side, order=int)
    groups += scoring.grouped(items, replies, "surface", surface_of, "surfaces")
    groups += scoring.grouped(items, replies, "topology", "topology")
    found = scoring.findings(lines, items, replies, groups)
    return replace(found, series={**found.series, "tokens": scoring.tokens_point(items, replies)})


def measurement_of(path: Path | None, per_family: int | None) -> Measurement:
    """The measurement of a file, of a subset, or of both."""
    asked = registered("spatial", partial(run, path=path, per_family=per_family))
    names, titles = ["spatial"], [asked.title]
    if path is not None:
        names.append(path.name.partition(".")[0])
        titles.append(path.name)
    if per_family is not None:
        names.append(str(per_family))
        titles.append(f"the first {per_family} of every family")
    return replace(asked, name="-".join(names), title=", ".join(titles))
