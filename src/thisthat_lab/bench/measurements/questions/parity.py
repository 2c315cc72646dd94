"""The same number asked two ways: a distance as a trained band and as an untrained parity."""

from __future__ import annotations

import re

from thisthat.items import metrics
from thisthat.items.item import Item
from thisthat_lab.bench import scoring
from thisthat_lab.bench.measure import Context, Findings
from thisthat_lab.bench.registry import REGISTRY
from thisthat_lab.bench.result import Line

MAZES = 300
QUICK_MAZES = 60
NO_MAZE = (
    "This checkpoint was trained on no maze, hence on no readout that determines a parity: both "
    "answers are habits, and the line is what guessing comes to. The paper's checkpoint knew mazes "
    "and no such readout; `checkpoints/worlds` knows mazes, but was trained on such readouts."
)


def run(context: Context) -> Findings:
    """P(parity right | band right) on pairs of questions about the same mazes."""
    from thisthat_lab.suites.spatial.held_out_sets import two_ways

    items = two_ways(QUICK_MAZES if context.setting.quick else MAZES)
    replies = context.ask("parity", items)
    bands, parities = items[::2], items[1::2]
    band_replies, parity_replies = replies[::2], replies[1::2]
    band_right = scoring.hits_of(bands, band_replies).astype(bool)
    parity_right = scoring.hits_of(parities, parity_replies).astype(bool)
    given = metrics.wilson(int((band_right & parity_right).sum()), int(band_right.sum()))
    otherwise = metrics.wilson(int((~band_right & parity_right).sum()), int((~band_right).sum()))
    lines = [
        Line.of("parity right, given the band is right", given, "parity.conditional"),
        Line.of("parity right, given the band is wrong", otherwise),
        scoring.accuracy_line(bands, band_replies, None, "band right"),
        scoring.accuracy_line(parities, parity_replies, None, "parity right"),
        Line.of(
            "parity right, worked out from the two printed coordinates alone",
            metrics.wilson(sum(_from_coordinates(item) for item in parities), len(parities)),
        ),
    ]
    groups = scoring.grouped(
        items, replies, "question and map side", lambda i: f"{i.family}, {i.facts['size']}"
    )
    recipes = set(getattr(context.system, "recipes", ()))
    with_mazes = {recipe for names in REGISTRY["parity"].trained.values() for recipe in names}
    caveats = [NO_MAZE] if recipes and not recipes & with_mazes else []
    rows = scoring.rows_of(items, replies)
    return Findings(lines, items, replies, groups, rows=rows, caveats=caveats)


def _from_coordinates(item: Item) -> bool:
    """Whether rows apart plus columns apart has the parity asked for: every step changes it."""
    numbers = re.findall(r"(?:Agent|goal)=\((\d+),(\d+)\)", str(item.state))
    apart = sum(int(row) + int(column) for row, column in numbers)
    return item.options[item.answer][0] == ("even", "odd")[apart % 2]
